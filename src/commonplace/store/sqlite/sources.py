"""The engine's part about files that were read, and how the sessions in them hang together."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from commonplace.store.damage import object_of
from commonplace.store.sqlite import sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.space import SqliteSpace

_META = sql.readable_json("meta")
_SAID = "FROM items WHERE session_id = ? AND kind = 'message'"
# What being left behind adds to the text of a message's metadata, which its session counts.
_MARK = ',"off_path":true'


class Sources(SqliteSpace):
    """How far each file was read."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None:
        with self._database.read() as connection:
            question = "SELECT mark FROM sources WHERE space_id = ? AND path = ?"
            row = sql.first(connection, question, (self._space_id, path))
        return None if row is None else object_of(row[0])

    def save_source_mark(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None:
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO sources (space_id, path, mark, at_ms) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (space_id, path) DO UPDATE SET mark = excluded.mark, at_ms = excluded.at_ms",
                (self._space_id, path, json.dumps(mark, ensure_ascii=False), now_ms),
            )

    def source_turns(self, key: str) -> list[tuple[str, str | None]]:
        with self._database.read(self._query_timeout) as connection:
            fields = ", ".join(f"{_META} ->> '$.{name}'" for name in ("turn", "follows", "sidechain"))
            question = f"SELECT {fields} {_SAID} ORDER BY id"
            rows = sql.rows(connection, question, (self._named(connection, key),))
        turns: dict[str, str | None] = {}
        for turn, follows, beside in rows:
            if turn and not beside:
                turns[turn] = follows or turns.get(turn)
        return list(turns.items())

    def mark_abandoned(self, key: str, turns: Collection[str]) -> None:
        with self._database.write() as connection:
            session_id = self._named(connection, key)
            question = f"SELECT id, {_META} ->> '$.turn', {_META} ->> '$.off_path' {_SAID}"
            marked = {True: "json_set(meta, '$.off_path', json('true'))", False: "json_remove(meta, '$.off_path')"}
            for item_id, turn, known in sql.rows(connection, question, (session_id,)):
                left = turn in turns
                if left != bool(known):
                    connection.execute(
                        f"UPDATE items SET meta = {marked[left]} WHERE id = ? AND json_valid(meta)", (item_id,)
                    )
                    size = len(_MARK) if left else -len(_MARK)
                    connection.execute("UPDATE sessions SET bytes = bytes + ? WHERE id = ?", (size, session_id))

    def link_sub_agents(self, key: str) -> int:
        untied = f"{_META} ->> '$.parent_session' = ? AND {_META} ->> '$.parent_message' IS NULL"
        question = f"SELECT id, key, {_META} ->> '$.started_by' FROM sessions WHERE space_id = ? AND {untied}"
        with self._database.read() as connection:
            if not sql.rows(connection, question, (self._space_id, key)):
                return 0
        with self._database.write() as connection:
            starters = sql.rows(
                connection,
                f"SELECT j.value, i.uid FROM items i CROSS JOIN json_each({sql.readable_json('i.meta')}, '$.spawned') j"
                " WHERE i.session_id = ? AND i.kind = 'message'",
                (self._named(connection, key),),
            )
            uids = dict(starters)
            tied = 0
            for session_id, name, call in sql.rows(connection, question, (self._space_id, key)):
                uid = uids.get(name.rpartition("/")[2]) or uids.get(call)
                if uid:
                    change = "UPDATE sessions SET meta = json_set(meta, '$.parent_message', ?) WHERE id = ?"
                    connection.execute(change, (uid, session_id))
                    tied += 1
            return tied

    def _named(self, connection: SqliteConnection, key: str) -> int:
        """The session of that key; 0, which is none, where there is no such."""
        row = sql.first(connection, "SELECT id FROM sessions WHERE space_id = ? AND key = ?", (self._space_id, key))
        return 0 if row is None else int(row[0])
