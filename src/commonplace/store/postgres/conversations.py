"""The engine's part about conversations: written whole, organised with a history, counted and listed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from commonplace.errors import Conflict, StoreError
from commonplace.identity import Ref
from commonplace.model import Change, Draft, Item, Session, SessionDraft, SessionScope, Stored
from commonplace.store.postgres import changes, hiding, items, sessions, sql, writing
from commonplace.store.postgres.inserting import insert_all
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.rows import change_of, session_before
from commonplace.store.sql import projects
from commonplace.store.sql.space import allow_replica
from commonplace.store.types import SessionCounts
from commonplace.text.near_duplicates import Sketch

# Seconds that a reader waits to have its visit noted.
PATIENCE = 0.25
_CHANGEABLE = {"label", "folder", "status", "importance", "meta", "project"}


class Conversations(PostgresSpace):
    """Sessions of one space."""

    def store_sessions(
        self, kept: Sequence[tuple[SessionDraft, Sequence[Draft]]], now_ms: int
    ) -> list[tuple[Session, list[Stored]]]:
        with self._database.write() as connection:
            done = [_keep(connection, self._space_id, draft, messages, now_ms) for draft, messages in kept]
        self._database.wrote(sum(len(stored) for _session, stored in done))
        return done

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
                column, kept = name, value
                if name == "meta":
                    kept = sql.as_json(value)
                elif name == "project":
                    column = "project_id"
                    kept = projects.find_or_create(connection, self._space_id, str(value), now_ms) if value else None
                    said = _item_ids(connection, self._space_id, session_id, "kind = 'message'")
                    hiding.move(connection, self._space_id, said, kept, now_ms)
                _set(connection, self._space_id, session_id, column, kept)
            return sessions.get_one(connection, self._space_id, session_id)

    def forget_session(self, session_id: int, now_ms: int, expect_rev: int | None = None) -> Session:
        with self._database.write() as connection:
            session = _expected(connection, self._space_id, session_id, expect_rev)
            if session.forgotten_ms is None:
                _record(connection, self._space_id, session, "forget", now_ms)
                _set(connection, self._space_id, session_id, "forgotten_ms", now_ms)
                live = "forgotten_ms IS NULL AND superseded_by IS NULL"
                hiding.forget(
                    connection, self._space_id, _item_ids(connection, self._space_id, session_id, live), now_ms
                )
            return sessions.get_one(connection, self._space_id, session_id)

    def restore_session(self, session_id: int, now_ms: int) -> Session:
        with self._database.write() as connection:
            _restore(connection, self._space_id, sessions.get_one(connection, self._space_id, session_id), now_ms)
            return sessions.get_one(connection, self._space_id, session_id)

    def touch_session(self, session_id: int, now_ms: int) -> None:
        try:
            with self._database.write_relaxed(PATIENCE) as connection:
                visit = "UPDATE sessions SET accessed_ms = greatest(accessed_ms, %s) WHERE space_id = %s AND id = %s"
                sql.run(connection, visit, (now_ms, self._space_id, session_id))
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
                "SELECT id, session_id FROM items"
                " WHERE space_id = %s AND id = ANY(%s::bigint[]) AND session_id IS NOT NULL",
                (self._space_id, [*item_ids]),
            )
            found = sessions.get(connection, self._space_id, {row[1] for row in rows})
            return {item_id: found[session_id] for item_id, session_id in rows}

    def messages_of(self, session_id: int, limit: int | None = None, after: int = 0) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            return items.messages(connection, self._space_id, session_id, limit, after)

    @allow_replica
    def latest_sessions(
        self, scope: SessionScope, limit: int, before: tuple[int, int] | None = None, skip: int = 0
    ) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            if before:
                condition += " AND (s.ended_ms, s.id) < (%s, %s)"
                bindings += before
            order = "s.ended_ms DESC, s.id DESC LIMIT %s OFFSET %s"
            return sessions.selected(connection, condition, [*bindings, limit, skip], order)

    @allow_replica
    def count_sessions(self, scope: SessionScope) -> int:
        with self._database.read(self._query_timeout) as connection:
            condition, bindings = sessions.condition_of(connection, self._space_id, scope)
            return int(sql.value(connection, f"SELECT count(*) FROM sessions s WHERE {condition}", bindings))

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
        with self._database.read() as connection:
            rows = sql.rows(
                connection,
                "SELECT rev, op, at_ms, before FROM session_history"
                " WHERE space_id = %s AND session_id = %s ORDER BY rev, id",
                (self._space_id, session_id),
            )
            return [change_of(*row) for row in rows]

    @allow_replica
    def idle_sessions(self, ended_before_ms: int, importance_below: float) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            condition = f"s.space_id = %s AND {sessions.LIVE} AND s.status = 'active' AND s.ended_ms <= %s"
            bindings = (self._space_id, ended_before_ms, importance_below)
            return sessions.selected(connection, f"{condition} AND s.importance < %s", bindings)

    @allow_replica
    def sketches(self) -> dict[int, Sketch]:
        with self._database.read(self._query_timeout) as connection:
            return sessions.sketches(connection, self._space_id)


def _keep(
    connection: Connection, space_id: int, draft: SessionDraft, messages: Sequence[Draft], now_ms: int
) -> tuple[Session, list[Stored]]:
    known = sql.first(
        connection,
        "SELECT id FROM sessions WHERE space_id = %(space)s AND (uid = %(uid)s::text OR key = %(key)s)"
        " ORDER BY uid = %(uid)s::text DESC LIMIT 1",
        {"space": space_id, "uid": draft.uid, "key": draft.key},
    )
    if known is None:
        project = draft.project
        project_id = None if project is None else projects.find_or_create(connection, space_id, project, now_ms)
        session_id = sessions.insert(connection, space_id, draft, project_id, now_ms)
        session = sessions.get_one(connection, space_id, session_id)
    else:
        session = sessions.get_one(connection, space_id, known[0])
        if draft.follows:
            if session.forgotten_ms is not None:
                return session, []
            _learn(connection, space_id, session, draft)
        if session.forgotten_ms is not None:
            _restore(connection, space_id, session, now_ms)
    stored = _add(connection, space_id, session, messages, now_ms, follows=draft.follows)
    if known is None and draft.updated_ms is not None:
        _set(connection, space_id, session.id, "updated_ms", draft.updated_ms)
    return sessions.get_one(connection, space_id, session.id), stored


def _learn(connection: Connection, space_id: int, session: Session, draft: SessionDraft) -> None:
    """What a source says of its session by now, as long as no person said otherwise."""
    if session.rev == 1:
        meta = sql.as_json({**session.meta, **draft.meta})
        change = "UPDATE sessions SET label = %s, meta = %s WHERE space_id = %s AND id = %s"
        sql.run(connection, change, (draft.label, meta, space_id, session.id))


def _add(
    connection: Connection,
    space_id: int,
    session: Session,
    drafts: Sequence[Draft],
    now_ms: int,
    *,
    follows: bool = False,
) -> list[Stored]:
    """Write the messages that are new, and count them once for all."""
    question = "SELECT project_id FROM sessions WHERE space_id = %s AND id = %s"
    place = changes.Place(sql.value(connection, question, (space_id, session.id)), session.id)
    known = _by_uid(connection, space_id, session.id, drafts)
    asked = [*_unknown(drafts, known)]
    if follows:
        made = iter(writing.follow_all(connection, space_id, place, asked, now_ms))
    else:
        made = iter(insert_all(connection, space_id, [(place, draft) for draft in asked], now_ms))
    stored, new = [], []
    for draft in drafts:
        one = known.get(draft.uid) or next(made)
        stored.append(one)
        if draft.uid:
            known[draft.uid] = replace(one, duplicate=True)
        if not one.duplicate:
            new.append(draft)
    if new:
        changes.count_items(connection, space_id, [(place, draft) for draft in new], +1)
        _set(connection, space_id, session.id, "updated_ms", now_ms)
    return stored


def _unknown(drafts: Sequence[Draft], known: Collection[str | None]) -> Iterator[Draft]:
    """The drafts whose uid is not known, nor that of one before them."""
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
    question = "SELECT id, uid FROM items WHERE space_id = %s AND uid = ANY(%s::text[]) AND session_id = %s"
    rows = sql.rows(connection, question, (space_id, uids, session_id))
    return {uid: Stored(id_, uid, duplicate=True) for id_, uid in rows}


def _restore(connection: Connection, space_id: int, session: Session, now_ms: int) -> None:
    """Bring back a session and what was forgotten with it and has not come back by itself."""
    last = sql.first(
        connection,
        "SELECT at_ms FROM session_history WHERE space_id = %s AND session_id = %s AND op = 'forget'"
        " ORDER BY rev DESC LIMIT 1",
        (space_id, session.id),
    )
    gone = [] if last is None else _item_ids(connection, space_id, session.id, "forgotten_ms = %s", last)
    if session.forgotten_ms is None and not gone:
        return
    _record(connection, space_id, session, "restore", now_ms)
    _set(connection, space_id, session.id, "forgotten_ms", None)
    hiding.restore(connection, space_id, gone, now_ms)


def _expected(connection: Connection, space_id: int, session_id: int, expect_rev: int | None) -> Session:
    session = sessions.get_one(connection, space_id, session_id)
    if expect_rev is not None and session.rev != expect_rev:
        raise Conflict(f"Conversation {session.uid} is at revision {session.rev}, not {expect_rev}.")
    return session


def _record(connection: Connection, space_id: int, session: Session, op: str, now_ms: int) -> None:
    sql.run(
        connection,
        "INSERT INTO session_history (space_id, session_id, rev, op, at_ms, before) VALUES (%s, %s, %s, %s, %s, %s)",
        (space_id, session.id, session.rev, op, now_ms, json.dumps(session_before(session), ensure_ascii=False)),
    )
    change = "UPDATE sessions SET rev = rev + 1, updated_ms = %s WHERE space_id = %s AND id = %s"
    sql.run(connection, change, (now_ms, space_id, session.id))


def _set(connection: Connection, space_id: int, session_id: int, column: str, value: object) -> None:
    change = f"UPDATE sessions SET {column} = %s WHERE space_id = %s AND id = %s"
    sql.run(connection, change, (value, space_id, session_id))


def _item_ids(
    connection: Connection, space_id: int, session_id: int, condition: str, bindings: Sequence[object] = ()
) -> list[int]:
    question = f"SELECT id FROM items WHERE space_id = %s AND session_id = %s AND {condition} ORDER BY created_ms, id"
    return [row[0] for row in sql.rows(connection, question, (space_id, session_id, *bindings))]
