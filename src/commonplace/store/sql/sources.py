"""Files that sessions were read from: how far each was read, and which turns and sub-agents belong together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from commonplace.store.damage import object_of
from commonplace.store.sql.connection import Connection, json_field
from commonplace.store.sql.space import Space

# What being abandoned adds to the text of a message's metadata, whose size its session counts.
_ABANDONED = ',"off_path":true'
_UNLINKED = f"""
SELECT id, key, meta FROM sessions WHERE space_id = ?
   AND {json_field("meta", "parent_session")} = ? AND {json_field("meta", "parent_message")} IS NULL
"""


class Sources(Space):
    """How far each source of one space was read."""

    def source_mark(self, path: str) -> Mapping[str, Any] | None:
        with self._database.read() as connection:
            select = "SELECT mark FROM sources WHERE space_id = ? AND path = ?"
            row = connection.first(select, (self._space_id, path))
        return None if row is None else object_of(row[0])

    def save_source_mark(self, path: str, mark: Mapping[str, Any], now_ms: int) -> None:
        with self._database.write() as connection:
            connection.run(
                "INSERT INTO sources (space_id, path, mark, at_ms) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (space_id, path) DO UPDATE SET mark = excluded.mark, at_ms = excluded.at_ms",
                (self._space_id, path, connection.as_json(mark), now_ms),
            )

    def source_turns(self, key: str) -> list[tuple[str, str | None]]:
        with self._database.read(self._query_timeout) as connection:
            messages = _messages(connection, self._space_id, key)
        turns: dict[str, str | None] = {}
        for _id, _uid, text in messages:
            meta = object_of(text)
            turn = meta.get("turn")
            if turn and not meta.get("sidechain"):
                turns[turn] = meta.get("follows") or turns.get(turn)
        return list(turns.items())

    def mark_abandoned(self, key: str, turns: Collection[str]) -> None:
        with self._database.write() as connection:
            changed, size = [], 0
            for item_id, _uid, text in _messages(connection, self._space_id, key):
                meta = object_of(text)
                known = meta.pop("off_path", False)
                abandoned = meta.get("turn") in turns
                # Damaged metadata stays as it is found.
                if abandoned != bool(known) and type(text) is str:
                    meta = meta | {"off_path": True} if abandoned else meta
                    changed.append((connection.as_json(meta), self._space_id, item_id))
                    size += len(_ABANDONED) if abandoned else -len(_ABANDONED)
            connection.run_all("UPDATE items SET meta = ? WHERE space_id = ? AND id = ?", changed)
            resize = "UPDATE sessions SET bytes = bytes + ? WHERE space_id = ? AND key = ?"
            connection.run(resize, (size, self._space_id, key))

    def link_sub_agents(self, key: str) -> int:
        with self._database.read() as connection:
            if not connection.rows(_UNLINKED, (self._space_id, key)):
                return 0
        with self._database.write() as connection:
            messages = _messages(connection, self._space_id, key)
            started = {call: uid for _id, uid, text in messages for call in object_of(text).get("spawned", ())}
            linked = []
            for session_id, name, text in connection.rows(_UNLINKED, (self._space_id, key)):
                meta = object_of(text)
                uid = started.get(name.rpartition("/")[2]) or started.get(meta.get("started_by"))
                if uid:
                    linked.append((connection.as_json(meta | {"parent_message": uid}), self._space_id, session_id))
            connection.run_all("UPDATE sessions SET meta = ? WHERE space_id = ? AND id = ?", linked)
            return len(linked)


def _messages(connection: Connection, space_id: int, key: str) -> list[tuple[int, str, str]]:
    """The id, uid and metadata of each message in the session of that key, in order."""
    return connection.rows(
        "SELECT i.id, i.uid, i.meta FROM sessions s CROSS JOIN items i"
        " ON +i.space_id = s.space_id AND i.session_id = s.id"
        " WHERE s.space_id = ? AND s.key = ? AND i.kind = 'message' ORDER BY i.id",
        (space_id, key),
    )
