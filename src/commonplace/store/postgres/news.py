"""News from the database: rows never lose their numbers, so whatever has a higher one than those told is new.

The writers of a space take turns (database.py), so that no row appears behind one that was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.store.postgres import sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.types import Event, EventMark, format_event_mark, parse_event_mark

# In the order of a mark. What was there before it was changed is told first.
_TABLES = ("items", "history", "sessions", "session_history")
_ITEM = """
       i.id, i.uid, i.kind, i.type, CASE WHEN i.forgotten_ms IS NULL THEN i.title ELSE '' END, p.name
  FROM {rows} LEFT JOIN projects p ON p.space_id = i.space_id AND p.id = i.project_id
"""
_SESSION = """
       s.id, s.uid, 'conversation', s.source, CASE WHEN s.forgotten_ms IS NULL THEN s.label ELSE '' END, p.name
  FROM {rows} LEFT JOIN projects p ON p.space_id = s.space_id AND p.id = s.project_id
"""
_SINCE = (
    "SELECT i.id, 'created', i.created_ms," + _ITEM.format(rows="items i") + "WHERE i.space_id = %s AND i.id > %s",
    "SELECT h.id, h.op, h.at_ms,"
    + _ITEM.format(rows="history h JOIN items i ON i.space_id = h.space_id AND i.id = h.item_id")
    + "WHERE h.space_id = %s AND h.id > %s",
    "SELECT s.id, 'created', s.started_ms,"
    + _SESSION.format(rows="sessions s")
    + "WHERE s.space_id = %s AND s.id > %s",
    "SELECT h.id, h.op, h.at_ms,"
    + _SESSION.format(rows="session_history h JOIN sessions s ON s.space_id = h.space_id AND s.id = h.session_id")
    + "WHERE h.space_id = %s AND h.id > %s",
)
_WORDS = {
    "created": "created",
    "edit": "edited",
    "append": "continued",
    "forget": "forgotten",
    "restore": "restored",
    "supersede": "superseded",
    "move": "moved",
    "merge": "merged",
}


class News(PostgresSpace):
    """The engine's part about what happened."""

    def events(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]:
        told = None if after is None else list(parse_event_mark(after))
        with self._database.read(self._query_timeout) as connection:
            if told is None:
                return (), format_event_mark(_latest(connection, self._space_id))
            events: list[Event] = []
            for place, question in enumerate(_SINCE):
                bindings = (self._space_id, told[place], limit - len(events))
                for row in sql.rows(connection, f"{question} ORDER BY 1 LIMIT %s", bindings):
                    told[place] = row[0]
                    events.append(_event(row, (told[0], told[1], told[2], told[3])))
            self._database.replicas.note_now(connection)
            return events, format_event_mark((told[0], told[1], told[2], told[3]))


def _latest(connection: Connection, space_id: int) -> EventMark:
    items, changes, sessions, moves = (
        int(sql.value(connection, f"SELECT coalesce(max(id), 0) FROM {table} WHERE space_id = %s", (space_id,)))
        for table in _TABLES
    )
    return items, changes, sessions, moves


def _event(row: Sequence[Any], mark: EventMark) -> Event:
    _number, op, at_ms, id_, uid, kind, type_, title, project = row
    thing = "conversation" if kind == "conversation" else "item"
    return Event(format_event_mark(mark), f"{thing}.{_WORDS.get(op, op)}", at_ms, id_, uid, kind, type_, title, project)
