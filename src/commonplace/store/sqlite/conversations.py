"""The engine's part about conversations: written whole, organised with a history, counted and listed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.errors import Conflict, StoreError
from commonplace.identity import Ref, new_uid
from commonplace.model import Change, Draft, Item, Session, SessionDraft, SessionScope, Stored
from commonplace.store.rows import change_of, session_before
from commonplace.store.sql import projects
from commonplace.store.sqlite import changes, index, items, sessions, sql, writing
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.types import SessionCounts
from commonplace.text.near_duplicates import Sketch

# Seconds that a reader waits to have its visit noted.
PATIENCE = 0.25
_CHANGEABLE = {"label", "folder", "status", "importance", "meta", "project"}


class Conversations(SqliteSpace):
    """Sessions of one space."""

    def store_sessions(
        self, kept: Sequence[tuple[SessionDraft, Sequence[Draft]]], now_ms: int
    ) -> list[tuple[Session, list[Stored]]]:
        with self._database.write() as connection:
            return [_keep(connection, self._space_id, draft, messages, now_ms) for draft, messages in kept]

    def append_messages(
        self, session_id: int, drafts: Sequence[Draft], now_ms: int, expect_rev: int | None = None
    ) -> tuple[Session, list[Stored]]:
        with self._database.write() as connection:
            session = _expected(connection, self._space_id, session_id, expect_rev)
            _record(connection, self._space_id, session, "append", now_ms)
            stored = _add(connection, self._space_id, session, drafts, now_ms)
            return sessions.get_one(connection, self._space_id, session_id), stored

    def change_session(
        self, session_id: int, changed: Mapping[str, object], now_ms: int, expect_rev: int | None = None
    ) -> Session:
        assert changed.keys() <= _CHANGEABLE
        with self._database.write() as connection:
            session = _expected(connection, self._space_id, session_id, expect_rev)
            _record(connection, self._space_id, session, "edit", now_ms)
            for name, value in changed.items():
                column: str = name
                kept: Any = value
                if name == "meta":
                    kept = json.dumps(value, ensure_ascii=False)
                elif name == "project":
                    column = "project_id"
                    kept = projects.find_or_create(connection, self._space_id, str(value), now_ms) if value else None
                    for item_id in _item_ids(connection, session_id, "kind = 'message'"):
                        changes.move(connection, self._space_id, item_id, kept, now_ms)
                connection.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (kept, session_id))
            return sessions.get_one(connection, self._space_id, session_id)

    def forget_session(self, session_id: int, now_ms: int, expect_rev: int | None = None) -> Session:
        with self._database.write() as connection:
            session = _expected(connection, self._space_id, session_id, expect_rev)
            if session.forgotten_ms is None:
                _record(connection, self._space_id, session, "forget", now_ms)
                connection.execute("UPDATE sessions SET forgotten_ms = ? WHERE id = ?", (now_ms, session_id))
                for item_id in _item_ids(connection, session_id, "forgotten_ms IS NULL AND superseded_by IS NULL"):
                    changes.forget(connection, self._space_id, item_id, now_ms)
            return sessions.get_one(connection, self._space_id, session_id)

    def restore_session(self, session_id: int, now_ms: int) -> Session:
        with self._database.write() as connection:
            _restore(connection, self._space_id, _expected(connection, self._space_id, session_id, None), now_ms)
            return sessions.get_one(connection, self._space_id, session_id)

    def touch_session(self, session_id: int, now_ms: int) -> None:
        try:
            with self._database.write_relaxed(PATIENCE) as connection:
                connection.execute(
                    "UPDATE sessions SET accessed_ms = max(coalesce(accessed_ms, ?1), ?1)"
                    " WHERE space_id = ?2 AND id = ?3",
                    (now_ms, self._space_id, session_id),
                )
        except StoreError:
            return

    def resolve_session(self, ref: Ref, key: str) -> int | None:
        with self._database.read() as connection:
            return sessions.resolve(connection, self._space_id, ref, key)

    def get_sessions(self, session_ids: Iterable[int]) -> dict[int, Session]:
        with self._database.read() as connection:
            return sessions.get(connection, self._space_id, session_ids)

    def sessions_of(self, item_ids: Sequence[int]) -> dict[int, Session]:
        with self._database.read() as connection:
            rows = sql.rows(
                connection,
                "SELECT i.id, i.session_id FROM json_each(?2) j CROSS JOIN items i ON i.id = j.value"
                " WHERE i.space_id = ?1 AND i.session_id IS NOT NULL",
                (self._space_id, json.dumps(list(item_ids))),
            )
            found = sessions.get(connection, self._space_id, {row[1] for row in rows})
            return {item_id: found[session_id] for item_id, session_id in rows}

    def messages_of(self, session_id: int, limit: int | None = None, after: int = 0) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            return items.messages(connection, self._space_id, session_id, -1 if limit is None else limit, after)

    def latest_sessions(
        self, scope: SessionScope, limit: int, before: tuple[int, int] | None = None, skip: int = 0
    ) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            if before:
                condition += " AND (s.ended_ms, s.id) < (?, ?)"
                bindings += before
            order = "s.ended_ms DESC, s.id DESC LIMIT ? OFFSET ?"
            return sessions.selected(connection, condition, [*bindings, limit, skip], order)

    def count_sessions(self, scope: SessionScope) -> int:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            return int(sql.value(connection, f"SELECT count(*) FROM sessions s WHERE {condition}", bindings))

    def session_counts(self, scope: SessionScope, most_labels: int) -> SessionCounts:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            return sessions.sums(connection, f"FROM sessions s WHERE {condition}", bindings, most_labels)

    def activity(self, scope: SessionScope, since_ms: int) -> Mapping[int, int]:
        with self._database.read(self._query_timeout) as connection:
            return sessions.activity(connection, self._space_id, scope, since_ms)

    def session_history(self, session_id: int) -> list[Change]:
        with self._database.read() as connection:
            rows = sql.rows(
                connection,
                "SELECT rev, op, at_ms, before FROM session_history WHERE space_id = ? AND session_id = ?"
                " ORDER BY rev, id",
                (self._space_id, session_id),
            )
            return [change_of(*row) for row in rows]

    def idle_sessions(self, ended_before_ms: int, importance_below: float) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            condition = f"{sessions.LIVE} AND s.space_id = ? AND s.status = 'active' AND s.ended_ms <= ?"
            bindings = (self._space_id, ended_before_ms, importance_below)
            return sessions.selected(connection, f"{condition} AND coalesce(s.importance, 5.0) < ?", bindings)

    def sketches(self) -> dict[int, Sketch]:
        with self._database.read(self._query_timeout) as connection:
            return sessions.sketches(connection, self._space_id)


def _keep(
    connection: SqliteConnection, space_id: int, draft: SessionDraft, messages: Sequence[Draft], now_ms: int
) -> tuple[Session, list[Stored]]:
    known = sql.first(
        connection,
        "SELECT id FROM sessions WHERE space_id = ?1 AND (uid = ?2 OR key = ?3) ORDER BY uid = ?2 DESC",
        (space_id, draft.uid, draft.key),
    )
    if known is None:
        session = _insert(connection, space_id, draft, now_ms)
    else:
        session = sessions.write_readable(connection, sessions.get_one(connection, space_id, known[0]))
        if draft.follows:
            if session.forgotten_ms is not None:
                return session, []
            _learn(connection, session, draft)
        if session.forgotten_ms is not None:
            _restore(connection, space_id, session, now_ms)
    stored = _add(connection, space_id, session, messages, now_ms, follows=draft.follows)
    if known is None and draft.updated_ms is not None:
        connection.execute("UPDATE sessions SET updated_ms = ? WHERE id = ?", (draft.updated_ms, session.id))
    return sessions.get_one(connection, space_id, session.id), stored


def _insert(connection: SqliteConnection, space_id: int, draft: SessionDraft, now_ms: int) -> Session:
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    connection.execute(
        "INSERT INTO sessions (uid, space_id, key, source, project_id, label, folder, status, importance, meta,"
        " started_ms, ended_ms, accessed_ms, updated_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            draft.uid or new_uid(now_ms),
            space_id,
            draft.key,
            draft.source,
            project_id,
            draft.label,
            draft.folder,
            draft.status,
            draft.importance,
            json.dumps(draft.meta, ensure_ascii=False) if draft.meta else "{}",
            draft.started_ms,
            draft.started_ms,
            draft.accessed_ms,
            now_ms,
        ),
    )
    return sessions.get_one(connection, space_id, connection.last_insert_rowid())


def _learn(connection: SqliteConnection, session: Session, draft: SessionDraft) -> None:
    """What a source says of its session by now, as long as no person said otherwise."""
    if session.rev == 1:
        meta = json.dumps({**session.meta, **draft.meta}, ensure_ascii=False)
        connection.execute("UPDATE sessions SET label = ?, meta = ? WHERE id = ?", (draft.label, meta, session.id))


def _add(
    connection: SqliteConnection,
    space_id: int,
    session: Session,
    drafts: Sequence[Draft],
    now_ms: int,
    *,
    follows: bool = False,
) -> list[Stored]:
    """Write the messages that are new, and count them once for all."""
    project_id = sql.value(connection, "SELECT project_id FROM sessions WHERE id = ?", (session.id,))
    place = changes.Place(project_id, session.id)
    stored, new, words = [], [], index.Words()
    for draft in drafts:
        known = _by_uid(connection, space_id, session.id, draft.uid)
        write = writing.follow if follows else writing.insert
        made = known or write(connection, space_id, place, draft, now_ms, words)
        stored.append(made)
        if not made.duplicate:
            new.append(draft)
    words.write(connection)
    if new:
        index.count(connection, space_id, place.project_id, "message", len(new))
        sessions.count(connection, session.id, new, +1)
        connection.execute("UPDATE sessions SET updated_ms = ? WHERE id = ?", (now_ms, session.id))
    return stored


def _by_uid(connection: SqliteConnection, space_id: int, session_id: int, uid: str | None) -> Stored | None:
    """A message that is there already under its uid, whatever it says by now."""
    if uid is None:
        return None
    question = "SELECT id FROM items WHERE space_id = ? AND uid = ? AND session_id = ?"
    row = sql.first(connection, question, (space_id, uid, session_id))
    return None if row is None else Stored(row[0], uid, duplicate=True)


def _restore(connection: SqliteConnection, space_id: int, session: Session, now_ms: int) -> None:
    """Bring back a session and what was forgotten with it and has not come back by itself."""
    question = "SELECT at_ms FROM session_history WHERE session_id = ? AND op = 'forget' ORDER BY rev DESC LIMIT 1"
    last = sql.first(connection, question, (session.id,))
    gone = [] if last is None else _item_ids(connection, session.id, f"forgotten_ms = {last[0]}")
    if session.forgotten_ms is None and not gone:
        return
    _record(connection, space_id, session, "restore", now_ms)
    connection.execute("UPDATE sessions SET forgotten_ms = NULL WHERE id = ?", (session.id,))
    for item_id in gone:
        changes.restore(connection, space_id, item_id, now_ms)


def _expected(connection: SqliteConnection, space_id: int, session_id: int, expect_rev: int | None) -> Session:
    session = sessions.write_readable(connection, sessions.get_one(connection, space_id, session_id))
    if expect_rev is not None and session.rev != expect_rev:
        raise Conflict(f"Conversation {session.uid} is at revision {session.rev}, not {expect_rev}.")
    return session


def _record(connection: SqliteConnection, space_id: int, session: Session, op: str, now_ms: int) -> None:
    before = json.dumps(session_before(session), ensure_ascii=False)
    connection.execute(
        "INSERT INTO session_history (space_id, session_id, rev, op, at_ms, before) VALUES (?, ?, ?, ?, ?, ?)",
        (space_id, session.id, session.rev, op, now_ms, before),
    )
    connection.execute("UPDATE sessions SET rev = rev + 1, updated_ms = ? WHERE id = ?", (now_ms, session.id))


def _item_ids(connection: SqliteConnection, session_id: int, condition: str) -> list[int]:
    rows = sql.rows(connection, f"SELECT id FROM items WHERE session_id = ? AND {condition}", (session_id,))
    return [row[0] for row in rows]
