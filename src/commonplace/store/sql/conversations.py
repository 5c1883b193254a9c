"""Conversations: stored whole, organised with a history, counted and listed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from commonplace.errors import Conflict, StoreError
from commonplace.model import (
    UNKNOWN_AUTHOR,
    Author,
    Change,
    Draft,
    Item,
    Ref,
    Session,
    SessionDraft,
    SessionScope,
    Stored,
)
from commonplace.store.rows import change_of, item_of, session_before
from commonplace.store.sql import item_changes, item_writes, items, projects, sessions
from commonplace.store.sql.connection import IN_LIST, VISIT_WAIT_SECONDS, Connection, Space, allow_replica
from commonplace.store.sql.item_changes import ItemLocation
from commonplace.store.types import SessionCounts
from commonplace.text.near_duplicates import Sketch

_CHANGEABLE = {"label", "folder", "status", "importance", "meta", "project"}


class Conversations(Space):
    """Sessions of one space."""

    def store_sessions(
        self,
        drafts: Sequence[tuple[SessionDraft, Sequence[Draft]]],
        now_ms: int,
        by: Author = UNKNOWN_AUTHOR,
        *,
        with_memories: bool = True,
    ) -> list[tuple[Session, list[Stored]]]:
        with self._database.write() as connection:
            done = [
                _store(connection, self._space_id, draft, messages, now_ms, by, with_memories=with_memories)
                for draft, messages in drafts
            ]
        self._database.wrote(sum(len(stored) for _session, stored in done))
        return done

    def append_messages(
        self, session_id: int, drafts: Sequence[Draft], now_ms: int, expect_rev: int | None = None
    ) -> tuple[Session, list[Stored]]:
        with self._database.write() as connection:
            session = _changeable(connection, self._space_id, session_id, expect_rev)
            _record_before(connection, self._space_id, session, "append", now_ms)
            stored = _add_messages(connection, self._space_id, session, drafts, now_ms)
            return sessions.get_one(connection, self._space_id, session_id), stored

    def change_session(
        self, session_id: int, changed: Mapping[str, object], now_ms: int, expect_rev: int | None = None
    ) -> Session:
        assert changed.keys() <= _CHANGEABLE
        with self._database.write() as connection:
            session = _changeable(connection, self._space_id, session_id, expect_rev)
            _record_before(connection, self._space_id, session, "edit", now_ms)
            for name, value in changed.items():
                if name == "meta":
                    _set(connection, self._space_id, session_id, "meta", connection.as_json(value))
                elif name == "project":
                    project_id = (
                        projects.find_or_create(connection, self._space_id, str(value), now_ms) if value else None
                    )
                    messages = _item_ids(connection, self._space_id, session_id, "kind = 'message'")
                    item_changes.move(connection, self._space_id, messages, project_id, now_ms)
                    _set(connection, self._space_id, session_id, "project_id", project_id)
                else:
                    _set(connection, self._space_id, session_id, name, value)
            return sessions.get_one(connection, self._space_id, session_id)

    def forget_session(
        self, session_id: int, now_ms: int, expect_rev: int | None = None, by: Author = UNKNOWN_AUTHOR
    ) -> Session:
        with self._database.write() as connection:
            session = _changeable(connection, self._space_id, session_id, expect_rev)
            if session.forgotten_ms is None:
                _record_before(connection, self._space_id, session, "forget", now_ms)
                _set(connection, self._space_id, session_id, "forgotten_ms", now_ms)
                live = "forgotten_ms IS NULL AND superseded_by IS NULL"
                forgotten = _item_ids(connection, self._space_id, session_id, live)
                item_changes.forget(connection, self._space_id, forgotten, now_ms, by)
            return sessions.get_one(connection, self._space_id, session_id)

    def restore_session(
        self, session_id: int, now_ms: int, by: Author = UNKNOWN_AUTHOR, *, with_memories: bool = True
    ) -> Session:
        with self._database.write() as connection:
            session = _changeable(connection, self._space_id, session_id)
            _restore(connection, self._space_id, session, now_ms, by, with_memories=with_memories)
            return sessions.get_one(connection, self._space_id, session_id)

    def touch_session(self, session_id: int, now_ms: int) -> None:
        try:
            with self._database.write_relaxed(VISIT_WAIT_SECONDS) as connection:
                connection.run(
                    "UPDATE sessions SET accessed_ms = CASE WHEN accessed_ms > ?1 THEN accessed_ms ELSE ?1 END"
                    " WHERE space_id = ?2 AND id = ?3",
                    (now_ms, self._space_id, session_id),
                )
        except StoreError:
            return

    def resolve_session(self, ref: Ref, key: str) -> int | None:
        with self._database.read() as connection:
            return sessions.find(connection, self._space_id, ref, key)

    def get_sessions(self, session_ids: Iterable[int]) -> dict[int, Session]:
        with self._database.read() as connection:
            return sessions.get(connection, self._space_id, session_ids)

    def messages_of(self, session_id: int, limit: int | None = None, after: int = 0) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            return _messages(connection, self._space_id, session_id, limit, after)

    @allow_replica
    def latest_sessions(
        self, scope: SessionScope, limit: int, before: tuple[int, int] | None = None, skip: int = 0
    ) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            if before:
                condition += " AND (s.ended_ms, s.id) < (?, ?)"
                bindings += before
            order = "s.ended_ms DESC, s.id DESC LIMIT ? OFFSET ?"
            return sessions.select(connection, condition, [*bindings, limit, skip], order)

    @allow_replica
    def count_sessions(self, scope: SessionScope) -> int:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            return int(connection.value(f"SELECT count(*) FROM sessions s WHERE {condition}", bindings))

    @allow_replica
    def session_counts(self, scope: SessionScope, most_labels: int) -> SessionCounts:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            return sessions.sums(connection, f"FROM sessions s WHERE {condition}", bindings, most_labels)

    @allow_replica
    def activity(self, scope: SessionScope, since_ms: int) -> Mapping[int, int]:
        with self._database.read(self._query_timeout) as connection:
            return sessions.activity(connection, self._space_id, scope, since_ms)

    def session_history(self, session_id: int) -> list[Change]:
        select = "SELECT rev, op, at_ms, before FROM session_history WHERE space_id = ? AND session_id = ?"
        with self._database.read() as connection:
            rows = connection.rows(f"{select} ORDER BY rev, id", (self._space_id, session_id))
            return [change_of(*row) for row in rows]

    @allow_replica
    def idle_sessions(self, ended_before_ms: int, importance_below: float) -> list[Session]:
        condition = f"s.space_id = ? AND {sessions.LIVE} AND s.status = 'active' AND s.ended_ms <= ?"
        with self._database.read(self._query_timeout) as connection:
            bindings = (self._space_id, ended_before_ms, importance_below)
            return sessions.select(connection, f"{condition} AND coalesce(s.importance, 5.0) < ?", bindings)

    @allow_replica
    def sketches(self) -> dict[int, Sketch]:
        with self._database.read(self._query_timeout) as connection:
            return sessions.sketches(connection, self._space_id)


def _store(
    connection: Connection,
    space_id: int,
    draft: SessionDraft,
    messages: Sequence[Draft],
    now_ms: int,
    by: Author,
    *,
    with_memories: bool,
) -> tuple[Session, list[Stored]]:
    known = connection.first(
        "SELECT id FROM sessions WHERE space_id = ?1 AND (uid = CAST(?2 AS text) OR key = ?3)"
        " ORDER BY uid = CAST(?2 AS text) DESC LIMIT 1",
        (space_id, draft.uid, draft.key),
    )
    if known is None:
        project = draft.project
        project_id = None if project is None else projects.find_or_create(connection, space_id, project, now_ms)
        session_id = sessions.insert(connection, space_id, draft, project_id, now_ms)
        session = sessions.get_one(connection, space_id, session_id)
    else:
        session = _changeable(connection, space_id, known[0])
        if draft.follows:
            if session.forgotten_ms is not None:
                return session, []
            _update_from_source(connection, space_id, session, draft)
        if session.forgotten_ms is not None:
            _restore(connection, space_id, session, now_ms, by, with_memories=with_memories)
    stored = _add_messages(connection, space_id, session, messages, now_ms, follows=draft.follows)
    if known is None and draft.updated_ms is not None:
        _set(connection, space_id, session.id, "updated_ms", draft.updated_ms)
    return sessions.get_one(connection, space_id, session.id), stored


def _update_from_source(connection: Connection, space_id: int, session: Session, draft: SessionDraft) -> None:
    """Write what a source says of its session by now, as long as no person changed it."""
    if session.rev == 1:
        meta = connection.as_json({**session.meta, **draft.meta})
        change = "UPDATE sessions SET label = ?, meta = ? WHERE space_id = ? AND id = ?"
        connection.run(change, (draft.label, meta, space_id, session.id))


def _add_messages(
    connection: Connection,
    space_id: int,
    session: Session,
    drafts: Sequence[Draft],
    now_ms: int,
    *,
    follows: bool = False,
) -> list[Stored]:
    """Write the messages that are new, and count them all at once."""
    select = "SELECT project_id FROM sessions WHERE space_id = ? AND id = ?"
    place = ItemLocation(connection.value(select, (space_id, session.id)), session.id)
    known = _by_uid(connection, space_id, session.id, drafts)
    unknown = [*_unknown(drafts, known)]
    if follows:
        made = iter(item_writes.follow_all(connection, space_id, place, unknown, now_ms))
    else:
        made = iter(item_writes.insert_all(connection, space_id, [(place, draft) for draft in unknown], now_ms))
    stored, new = [], []
    for draft in drafts:
        one = known.get(draft.uid) or next(made)
        stored.append(one)
        if draft.uid:
            known[draft.uid] = replace(one, duplicate=True)
        if not one.duplicate:
            new.append(draft)
    if new:
        item_changes.count_items(connection, space_id, [(place, draft) for draft in new], +1)
        _set(connection, space_id, session.id, "updated_ms", now_ms)
    return stored


def _unknown(drafts: Sequence[Draft], known: Collection[str | None]) -> Iterator[Draft]:
    """The drafts whose uid is neither known nor that of one before them."""
    uids = {*known}
    for draft in drafts:
        if draft.uid is None or draft.uid not in uids:
            uids.add(draft.uid)
            yield draft


def _by_uid(
    connection: Connection, space_id: int, session_id: int, drafts: Sequence[Draft]
) -> dict[str | None, Stored]:
    """Messages that are there already under their uids, whatever they say by now."""
    uids = [draft.uid for draft in drafts if draft.uid]
    if not uids:
        return {}
    select = f"SELECT id, uid FROM items WHERE space_id = ? AND uid {IN_LIST} AND +session_id = ?"
    rows = connection.rows(select, (space_id, connection.array(uids), session_id))
    return {uid: Stored(id_, uid, duplicate=True) for id_, uid in rows}


def _restore(
    connection: Connection, space_id: int, session: Session, now_ms: int, by: Author, *, with_memories: bool
) -> None:
    """Bring back a session, and what was forgotten with it and has not come back by itself."""
    last = connection.first(
        "SELECT at_ms FROM session_history WHERE space_id = ? AND session_id = ? AND op = 'forget'"
        " ORDER BY rev DESC LIMIT 1",
        (space_id, session.id),
    )
    wanted = "forgotten_ms = ?" if with_memories else "forgotten_ms = ? AND kind <> 'memory'"
    gone = [] if last is None else _item_ids(connection, space_id, session.id, wanted, last)
    if session.forgotten_ms is None and not gone:
        return
    _record_before(connection, space_id, session, "restore", now_ms)
    _set(connection, space_id, session.id, "forgotten_ms", None)
    item_changes.restore(connection, space_id, gone, now_ms, by)


def _changeable(connection: Connection, space_id: int, session_id: int, expect_rev: int | None = None) -> Session:
    """A session that is about to be changed: a damaged one is first written as it was read."""
    session = sessions.get_one(connection, space_id, session_id)
    if session.damaged:
        connection.make_session_changeable(session)
    if expect_rev is not None and session.rev != expect_rev:
        raise Conflict(f"Conversation {session.uid} is at revision {session.rev}, not {expect_rev}.")
    return session


def _record_before(connection: Connection, space_id: int, session: Session, op: str, now_ms: int) -> None:
    """Write what a session was before something is done to it, and count the revision."""
    connection.run(
        "INSERT INTO session_history (space_id, session_id, rev, op, at_ms, before) VALUES (?, ?, ?, ?, ?, ?)",
        (space_id, session.id, session.rev, op, now_ms, connection.as_json(session_before(session))),
    )
    change = "UPDATE sessions SET rev = rev + 1, updated_ms = ? WHERE space_id = ? AND id = ?"
    connection.run(change, (now_ms, space_id, session.id))


def _set(connection: Connection, space_id: int, session_id: int, column: str, value: object) -> None:
    change = f"UPDATE sessions SET {column} = ? WHERE space_id = ? AND id = ?"
    connection.run(change, (value, space_id, session_id))


def _item_ids(
    connection: Connection, space_id: int, session_id: int, condition: str, bindings: Sequence[object] = ()
) -> list[int]:
    select = f"SELECT id FROM items WHERE +space_id = ? AND session_id = ? AND {condition} ORDER BY created_ms, id"
    return [row[0] for row in connection.rows(select, (space_id, session_id, *bindings))]


def _messages(connection: Connection, space_id: int, session_id: int, limit: int | None, after: int) -> list[Item]:
    """The live messages of a session in the order they were said; `after` is the id to go on from."""
    rows = connection.rows(
        f"{items.ITEMS} WHERE i.space_id = ? AND i.session_id = ? AND i.kind = 'message' AND i.id > ?"
        " AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL ORDER BY i.id LIMIT ?",
        (space_id, session_id, after, 2**62 if limit is None or limit < 0 else limit),
    )
    return [*map(item_of, rows)]
