"""The event feed of a space, and saved replies to requests that carry an idempotency key.

Rows never lose their ids, so whatever has a higher id than the last event is new; writers of a space take turns, so no
row appears before one that was already reported. A request that crashed leaves a claim that expires.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.store.sql.connection import Connection, Space
from commonplace.store.types import (
    EarlierRequest,
    Event,
    EventMark,
    RequestClaim,
    SavedReply,
    format_event_mark,
    parse_event_mark,
)

# Of an item that was changed since, the author is whoever changed it: who made it is in its history.
_MADE_BY = "CASE WHEN i.rev = 1 THEN i.author END"
# In the order of a mark: what was created is reported before its changes.
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
    f"SELECT i.id, 'created', i.created_ms, {_MADE_BY},"
    + _ITEM.format(rows="items i")
    + "WHERE +i.space_id = ? AND i.id > ?",
    "SELECT h.id, h.op, h.at_ms, h.author,"
    + _ITEM.format(rows="history h JOIN items i ON i.space_id = h.space_id AND i.id = h.item_id")
    + "WHERE +h.space_id = ? AND h.id > ?",
    "SELECT s.id, 'created', s.started_ms, NULL,"
    + _SESSION.format(rows="sessions s")
    + "WHERE +s.space_id = ? AND s.id > ?",
    "SELECT h.id, h.op, h.at_ms, NULL,"
    + _SESSION.format(rows="session_history h JOIN sessions s ON s.space_id = h.space_id AND s.id = h.session_id")
    + "WHERE +h.space_id = ? AND h.id > ?",
)
_EVENT_NAMES = {
    "created": "created",
    "edit": "edited",
    "append": "continued",
    "forget": "forgotten",
    "restore": "restored",
    "supersede": "superseded",
    "move": "moved",
    "merge": "merged",
    "accept": "accepted",
    "dismiss": "dismissed",
    "propose": "proposed",
}


class Events(Space):
    """What happened in one space."""

    def events(self, after: str | None, limit: int) -> tuple[Sequence[Event], str]:
        last = None if after is None else list(parse_event_mark(after))
        with self._database.read(self._query_timeout) as connection:
            if last is None:
                return (), format_event_mark(_latest(connection, self._space_id))
            events: list[Event] = []
            for table, select in enumerate(_SINCE):
                bindings = (self._space_id, last[table], limit - len(events))
                for row in connection.rows(f"{select} ORDER BY 1 LIMIT ?", bindings):
                    last[table] = row[0]
                    events.append(_event(row, (last[0], last[1], last[2], last[3])))
            self._database.note_position(connection)
            return events, format_event_mark((last[0], last[1], last[2], last[3]))


def _latest(connection: Connection, space_id: int) -> EventMark:
    items, changes, sessions, session_changes = (
        int(
            connection.value(
                f"SELECT coalesce(max(id), 0) FROM {table} /*pg WHERE space_id = :space */", {"space": space_id}
            )
        )
        for table in _TABLES
    )
    return items, changes, sessions, session_changes


def _event(row: Sequence[Any], mark: EventMark) -> Event:
    _number, op, at_ms, author, id_, uid, kind, type_, title, project = row
    subject = "conversation" if kind == "conversation" else "item"
    name = f"{subject}.{_EVENT_NAMES.get(op, op)}"
    return Event(format_event_mark(mark), name, at_ms, id_, uid, kind, type_, title, project, author)


_THIS_ATTEMPT = "space_id = ? AND caller = ? AND name = ? AND attempt = ?"


class Replies(Space):
    """The saved replies of one space."""

    def claim_reply(
        self, claim: RequestClaim, now_ms: int, given_up_ms: int, forgotten_ms: int
    ) -> EarlierRequest | None:
        with self._database.write() as connection:
            old = "DELETE FROM replies WHERE space_id = ? AND claimed_ms < ?"
            connection.run(old, (self._space_id, forgotten_ms))
            row = connection.first(
                "SELECT fingerprint, status, headers, body, claimed_ms FROM replies"
                " WHERE space_id = ? AND caller = ? AND name = ?",
                (self._space_id, claim.caller, claim.name),
            )
            if row is not None:
                fingerprint, status, headers, body, claimed_ms = row
                if status is not None:
                    return EarlierRequest(fingerprint, SavedReply(status, headers, body))
                if claimed_ms >= given_up_ms:
                    return EarlierRequest(fingerprint, None)
            connection.run(
                "INSERT INTO replies (space_id, caller, name, fingerprint, attempt, claimed_ms)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (space_id, caller, name) DO UPDATE SET"
                " fingerprint = excluded.fingerprint, attempt = excluded.attempt, claimed_ms = excluded.claimed_ms",
                (self._space_id, claim.caller, claim.name, claim.fingerprint, claim.attempt, now_ms),
            )
            return None

    def store_reply(self, claim: RequestClaim, answer: SavedReply) -> None:
        with self._database.write() as connection:
            connection.run(
                f"UPDATE replies SET status = ?, headers = ?, body = ? WHERE {_THIS_ATTEMPT}",
                (answer.status, answer.headers, answer.body, *self._attempt(claim)),
            )

    def release_claim(self, claim: RequestClaim) -> None:
        with self._database.write() as connection:
            connection.run(f"DELETE FROM replies WHERE {_THIS_ATTEMPT}", self._attempt(claim))

    def _attempt(self, claim: RequestClaim) -> tuple[int, str, str, str]:
        return (self._space_id, claim.caller, claim.name, claim.attempt)
