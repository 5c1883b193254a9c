"""News from the file: rows never lose their numbers, so whatever has a higher one than those told is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.store.sqlite import sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.types import Event, EventMark, format_event_mark, parse_event_mark

# In the order of a mark. What was there before it was changed is told first.
_TABLES = ("items", "history", "sessions", "session_history")
_ITEM = """
       i.id, i.uid, i.kind, i.type, CASE WHEN i.forgotten_ms IS NULL THEN i.title ELSE '' END, p.name
  FROM {rows} LEFT JOIN projects p ON p.id = i.project_id
"""
_SESSION = """
       s.id, s.uid, 'conversation', s.source, CASE WHEN s.forgotten_ms IS NULL THEN s.label ELSE '' END, p.name
  FROM {rows} LEFT JOIN projects p ON p.id = s.project_id
"""
_SINCE = (
    "SELECT i.id, 'created', i.created_ms," + _ITEM.format(rows="items i") + "WHERE i.space_id = ? AND i.id > ?",
    "SELECT h.id, h.op, h.at_ms,"
    + _ITEM.format(rows="history h JOIN items i ON i.id = h.item_id")
    + "WHERE h.space_id = ? AND h.id > ?",
    "SELECT s.id, 'created', s.started_ms," + _SESSION.format(rows="sessions s") + "WHERE s.space_id = ? AND s.id > ?",
    "SELECT h.id, h.op, h.at_ms,"
    + _SESSION.format(rows="session_history h JOIN sessions s ON s.id = h.session_id")
    + "WHERE h.space_id = ? AND h.id > ?",
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


class News(SqliteSpace):
    """The engine's part about what happened."""

    def events(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]:
        told = None if after is None else list(parse_event_mark(after))
        with self._database.read(self._query_timeout) as connection:
            if told is None:
                return (), format_event_mark(_latest(connection))
            events: list[Event] = []
            for place, question in enumerate(_SINCE):
                bindings = (self._space_id, told[place], limit - len(events))
                for row in sql.rows(connection, f"{question} ORDER BY 1 LIMIT ?", bindings):
                    told[place] = row[0]
                    events.append(_event(row, (told[0], told[1], told[2], told[3])))
            return events, format_event_mark((told[0], told[1], told[2], told[3]))


def _latest(connection: SqliteConnection) -> EventMark:
    items, changes, sessions, moves = (
        int(sql.value(connection, f"SELECT coalesce(max(id), 0) FROM {table}")) for table in _TABLES
    )
    return items, changes, sessions, moves


def _event(row: Sequence[Any], mark: EventMark) -> Event:
    _number, op, at_ms, id_, uid, kind, type_, title, project = row
    thing = "conversation" if kind == "conversation" else "item"
    return Event(format_event_mark(mark), f"{thing}.{_WORDS.get(op, op)}", at_ms, id_, uid, kind, type_, title, project)
