"""The engine's part about files that were read, and how the sessions in them hang together."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from commonplace.store.damage import object_of
from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.postgres.sql import as_json

# What being left behind adds to the text of a message's metadata, which its session counts.
_MARK = ',"off_path":true'
_UNTIED = """
SELECT id, key, meta FROM sessions
 WHERE space_id = %s AND meta::json ->> 'parent_session' = %s AND meta::json ->> 'parent_message' IS NULL
"""


class Sources(PostgresSpace):
    """How far each file was read."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None:
        with self._database.read() as connection:
            question = "SELECT mark FROM sources WHERE space_id = %s AND path = %s"
            row = sql.first(connection, question, (self._space_id, path))
        return None if row is None else object_of(row[0])

    def save_source_mark(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None:
        with self._database.write() as connection:
            sql.run(
                connection,
                "INSERT INTO sources (space_id, path, mark, at_ms) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (space_id, path) DO UPDATE SET mark = excluded.mark, at_ms = excluded.at_ms",
                (self._space_id, path, json.dumps(mark, ensure_ascii=False), now_ms),
            )

    def source_turns(self, key: str) -> list[tuple[str, str | None]]:
        with self._database.read(self._query_timeout) as connection:
            said = _said(connection, self._space_id, key)
        turns: dict[str, str | None] = {}
        for _id, _uid, meta in said:
            turn = meta.get("turn")
            if turn and not meta.get("sidechain"):
                turns[turn] = meta.get("follows") or turns.get(turn)
        return list(turns.items())

    def mark_abandoned(self, key: str, turns: Collection[str]) -> None:
        with self._database.write() as connection:
            marked, size = [], 0
            for item_id, _uid, meta in _said(connection, self._space_id, key):
                known = meta.pop("off_path", False)
                left = meta.get("turn") in turns
                if left != bool(known):
                    marked.append((as_json(meta | {"off_path": True} if left else meta), self._space_id, item_id))
                    size += len(_MARK) if left else -len(_MARK)
            sql.each(connection, "UPDATE items SET meta = %s WHERE space_id = %s AND id = %s", marked)
            change = "UPDATE sessions SET bytes = bytes + %s WHERE space_id = %s AND key = %s"
            sql.run(connection, change, (size, self._space_id, key))

    def link_sub_agents(self, key: str) -> int:
        with self._database.read() as connection:
            if not sql.rows(connection, _UNTIED, (self._space_id, key)):
                return 0
        with self._database.write() as connection:
            said = _said(connection, self._space_id, key)
            uids = {call: uid for _id, uid, meta in said for call in meta.get("spawned", ())}
            tied = []
            for session_id, name, text in sql.rows(connection, _UNTIED, (self._space_id, key)):
                meta = object_of(text)
                uid = uids.get(name.rpartition("/")[2]) or uids.get(meta.get("started_by"))
                if uid:
                    tied.append((as_json(meta | {"parent_message": uid}), self._space_id, session_id))
            sql.each(connection, "UPDATE sessions SET meta = %s WHERE space_id = %s AND id = %s", tied)
            return len(tied)


def _said(connection: Connection, space_id: int, key: str) -> list[tuple[int, str, dict[str, Any]]]:
    """(id, uid, metadata) of each message in the session of that key, in order."""
    rows = sql.rows(
        connection,
        "SELECT i.id, i.uid, i.meta FROM sessions s JOIN items i ON i.space_id = s.space_id AND i.session_id = s.id"
        " WHERE s.space_id = %s AND s.key = %s AND i.kind = 'message' ORDER BY i.id",
        (space_id, key),
    )
    return [(id_, uid, object_of(meta)) for id_, uid, meta in rows]
