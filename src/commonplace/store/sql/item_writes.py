"""Writing items: each once, with its passages, words and job, or found to be there already; and streams.

A stream is a memory that arrives in chunks, stored so that any process can go on with it after a restart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from commonplace.errors import Conflict, StoreError
from commonplace.model import (
    ACCEPTED,
    DISMISSED,
    HIDDEN_TAG,
    PINNED_TAG,
    PROPOSED,
    SOURCE_FIELDS,
    UNKNOWN_AUTHOR,
    VALIDITY_FIELDS,
    Author,
    Draft,
    Item,
    Stored,
    Stream,
    new_uid,
)
from commonplace.store.damaged_values import list_of
from commonplace.store.sql import indexing, item_changes, projects, sessions
from commonplace.store.sql.connection import IN_BLOBS, IN_LIST, VISIT_WAIT_SECONDS, Connection, Space
from commonplace.store.sql.item_changes import (
    SAME,
    ItemLocation,
    content_columns,
    count_items,
    source_columns,
    write_tags,
)
from commonplace.store.types import SAME_USE_MS, StreamCheck, Use

_SAME = "ON CONFLICT (space_id, coalesce(project_id, 0), content_hash) DO NOTHING"
# The columns of a new item by PostgreSQL's types; SQLite has a checksum besides.
_TYPES = {
    "space_id": "integer",
    "uid": "text",
    "project_id": "bigint",
    "session_id": "bigint",
    "kind": "text",
    "type": "text",
    "importance": "float8",
    "tagged": "boolean",
    "content_hash": "bytea",
    "created_ms": "bigint",
    "updated_ms": "bigint",
    "title": "text",
    "body": "text",
    "details": "text",
    "meta": "text",
    "tokens": "bigint",
    "checksum": "bytea",
    **dict.fromkeys(VALIDITY_FIELDS, "bigint"),
    **dict.fromkeys(SOURCE_FIELDS, "text"),
}


class ItemWrites(Space):
    """Everything that writes items of one space. All of a call happens, or nothing."""

    def put(self, drafts: Sequence[Draft], now_ms: int) -> list[Stored]:
        with self._database.write() as connection:
            stored = put_all(connection, self._space_id, drafts, now_ms)
        self._database.wrote(len(stored))
        return stored

    def rewrite(
        self,
        item_id: int,
        draft: Draft,
        now_ms: int,
        expect_rev: int | None = None,
        supersedes: int | None = None,
        by: Author | None = None,
    ) -> Item:
        by = Author(draft.author, draft.origin) if by is None else by
        with self._database.write() as connection:
            item = item_changes.rewrite(connection, self._space_id, item_id, draft, now_ms, expect_rev, by)
            if supersedes is not None:
                item_changes.supersede(connection, self._space_id, supersedes, item_id, now_ms, by)
            return item

    def forget(self, item_ids: Sequence[int], now_ms: int, by: Author = UNKNOWN_AUTHOR) -> list[int]:
        with self._database.write() as connection:
            return item_changes.forget(connection, self._space_id, item_ids, now_ms, by)

    def restore(self, item_ids: Sequence[int], now_ms: int, by: Author = UNKNOWN_AUTHOR) -> list[int]:
        with self._database.write() as connection:
            return item_changes.restore(connection, self._space_id, item_ids, now_ms, by, planned=True)

    def supersede(self, old_id: int, new_id: int, now_ms: int, by: Author = UNKNOWN_AUTHOR) -> None:
        with self._database.write() as connection:
            item_changes.supersede(connection, self._space_id, old_id, new_id, now_ms, by)

    def review(self, item_ids: Sequence[int], state: str, now_ms: int, by: Author) -> None:
        with self._database.write() as connection:
            if state == DISMISSED:
                item_changes.forget(connection, self._space_id, item_ids, now_ms, by, dismissed=True)
            else:
                change = item_changes.accept if state == ACCEPTED else item_changes.propose_again
                change(connection, self._space_id, item_ids, now_ms, by)

    def record_use(self, item_ids: Sequence[int], now_ms: int) -> None:
        try:
            with self._database.write_relaxed(VISIT_WAIT_SECONDS) as connection:
                _record_use(connection, self._space_id, item_ids, now_ms)
        except StoreError:
            # Busy, or read only: a use that is not counted harms nobody.
            return


def _record_use(connection: Connection, space_id: int, item_ids: Sequence[int], now_ms: int) -> None:
    select = f"SELECT item_id, uses, used_ms FROM item_uses WHERE space_id = ? AND item_id {IN_LIST}"
    rows = connection.rows(select, (space_id, connection.array(item_ids)))
    known = {item_id: Use(number, last_ms) for item_id, number, last_ms in rows}
    used = [id_ for id_ in dict.fromkeys(item_ids) if id_ not in known or now_ms - known[id_].last_ms >= SAME_USE_MS]
    connection.run_all(
        "INSERT INTO item_uses (space_id, item_id, uses, used_ms) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (space_id, item_id) DO UPDATE SET uses = excluded.uses, used_ms = excluded.used_ms",
        [(space_id, id_, 1.0 + (known[id_].now(now_ms) if id_ in known else 0.0), now_ms) for id_ in used],
    )


def put_all(connection: Connection, space_id: int, drafts: Sequence[Draft], now_ms: int) -> list[Stored]:
    """Write items with their passages, words and jobs, or find that they are there already."""
    drafts = [*drafts]
    known_projects: dict[str, int] = {}
    known_sessions: dict[tuple[str, bool], int] = {}
    keys = {draft.session for draft in drafts if draft.session is not None}
    complete = sessions.with_project(connection, space_id, keys) if len(keys) > 1 else {}
    located = []
    for draft in drafts:
        project_id = session_id = None
        if draft.project is not None:
            project_id = known_projects.get(draft.project)
            if project_id is None:
                project_id = projects.find_or_create(connection, space_id, draft.project, now_ms)
                known_projects[draft.project] = project_id
        if draft.session is not None:
            # A session learns its project when one is first named.
            key = (draft.session, project_id is not None)
            session_id = complete.get(draft.session) or known_sessions.get(key)
            if session_id is None:
                session_id = sessions.find_or_create(
                    connection, space_id, draft.session, project_id, draft.created_ms, now_ms
                )
                known_sessions[key] = session_id
        located.append((ItemLocation(project_id, session_id), draft))
    stored = insert_all(connection, space_id, located, now_ms)
    new = [one for one, made in zip(located, stored, strict=True) if not made.duplicate]
    count_items(connection, space_id, new, +1)
    return stored


def put(connection: Connection, space_id: int, draft: Draft, now_ms: int) -> Stored:
    """Write one item."""
    return put_all(connection, space_id, [draft], now_ms)[0]


def insert_all(
    connection: Connection, space_id: int, located: Sequence[tuple[ItemLocation, Draft]], now_ms: int
) -> list[Stored]:
    """Write items where they belong, not counted yet, or find that they are there already."""
    _check_uids(connection, space_id, located)
    uids = [draft.uid or new_uid(now_ms) for _place, draft in located]
    rows = [
        {
            "space_id": space_id,
            "uid": uid,
            "project_id": place.project_id,
            "session_id": place.session_id,
            "kind": draft.kind,
            "type": draft.type,
            "importance": draft.importance,
            "tagged": bool(draft.tags),
            "content_hash": draft.content_hash,
            "created_ms": draft.created_ms,
            "updated_ms": now_ms,
            **content_columns(connection, draft),
            **source_columns(draft),
        }
        for uid, (place, draft) in zip(uids, located, strict=True)
    ]
    if not rows:
        return []
    types = {name: _TYPES[name] for name in rows[0]}
    made = connection.insert_all("items", types, [[*row.values()] for row in rows], key=("uid",), conflict=_SAME)
    new = [(id_, place.project_id, draft) for id_, (place, draft) in zip(made, located, strict=True) if id_ is not None]
    write_tags(connection, space_id, [(item_id, draft.tags) for item_id, _project, draft in new])
    indexing.add_all(connection, space_id, new)
    return [
        _found_again(connection, space_id, place.project_id, draft, now_ms)
        if id_ is None
        else Stored(id_, uid, duplicate=False)
        for id_, uid, (place, draft) in zip(made, uids, located, strict=True)
    ]


def follow_all(
    connection: Connection, space_id: int, place: ItemLocation, drafts: Sequence[Draft], now_ms: int
) -> list[Stored]:
    """Write items, or let those of the same identity say what their source says by now, without a history."""
    rows = connection.rows(
        "SELECT content_hash, id FROM items WHERE space_id = ? AND coalesce(project_id, 0) = ?"
        f" AND content_hash {IN_BLOBS}",
        (space_id, place.project_id or 0, connection.array(draft.content_hash for draft in drafts)),
    )
    known = {content_hash: int(item_id) for content_hash, item_id in rows}
    new = list({draft.content_hash: draft for draft in reversed(drafts) if draft.content_hash not in known}.values())
    new.reverse()
    made = insert_all(connection, space_id, [(place, draft) for draft in new], now_ms)
    fresh = {id(draft): one for draft, one in zip(new, made, strict=True)}
    known |= {draft.content_hash: one.id for draft, one in zip(new, made, strict=True)}
    return [
        fresh.get(id(draft)) or _follow(connection, space_id, place, known[draft.content_hash], draft, now_ms)
        for draft in drafts
    ]


def _follow(
    connection: Connection, space_id: int, place: ItemLocation, item_id: int, draft: Draft, now_ms: int
) -> Stored:
    """Let an item say what its source says by now.

    The source keeps what was; one that was cut off says only how it began, and takes nothing away. An item that was
    forgotten stays forgotten, and one that a person changed as it is.
    """
    old = item_changes.changeable(connection, space_id, item_id)
    grown = (old.body, old.details) != (draft.body, draft.details)
    # A document is what its file is now; a session that was cut off takes nothing away.
    cut_off = not draft.meta.get("document") and old.body != draft.body and old.body.startswith(draft.body)
    draft = replace(draft, meta={**old.meta, **draft.meta})
    edited = "SELECT 1 FROM history WHERE space_id = ? AND item_id = ? AND op = 'edit' LIMIT 1"
    if (
        item_changes.is_live(old)
        and not cut_off
        and (grown or draft.meta != old.meta)
        and connection.first(edited, (space_id, old.id)) is None
    ):
        times = {"created_ms": draft.created_ms, "updated_ms": now_ms}
        item_changes.update(connection, space_id, old.id, content_columns(connection, draft) | times)
        if grown:
            indexing.regrow(connection, space_id, old.id, place.project_id, draft)
        count_items(connection, space_id, [(place, old)], -1)
        count_items(connection, space_id, [(place, draft)], +1)
    return Stored(old.id, old.uid, duplicate=True)


def _found_again(connection: Connection, space_id: int, project_id: int | None, draft: Draft, now_ms: int) -> Stored:
    select = f"SELECT id, uid, review FROM items WHERE {SAME}"
    item_id, uid, review = connection.first(select, (space_id, project_id or 0, draft.content_hash))
    by = Author(draft.author, draft.origin)
    # Saying again what was forgotten or superseded is wanting it back. Proposing what was dismissed is not. An agent
    # brings back nothing that a person decided about, and nothing by what it only proposes.
    if draft.origin == "agent":
        wanted = draft.review != PROPOSED and not _is_decided(connection, space_id, int(item_id), review)
    else:
        wanted = draft.review != PROPOSED or review != DISMISSED
    if wanted:
        item_changes.restore(connection, space_id, [int(item_id)], now_ms, by)
    # What a person says themselves they agree with.
    if review in (PROPOSED, DISMISSED) and draft.origin == "person" and draft.review is None:
        item_changes.accept(connection, space_id, [int(item_id)], now_ms, by)
    return Stored(int(item_id), str(uid), duplicate=True)


def _is_decided(connection: Connection, space_id: int, item_id: int, review: str | None) -> bool:
    """Whether a person accepted, dismissed, pinned or hid an item, or took it away."""
    select = "SELECT 1 FROM item_tags WHERE +space_id = ? AND item_id = ? AND tag IN (?, ?)"
    marked = connection.first(select, (space_id, item_id, PINNED_TAG, HIDDEN_TAG)) is not None
    last = "SELECT op, origin FROM history WHERE space_id = ? AND item_id = ? ORDER BY rev DESC, id DESC LIMIT 1"
    op, origin = connection.first(last, (space_id, item_id)) or ("", None)
    taken_away = op in ("forget", "supersede") and origin != "agent"
    return review in (ACCEPTED, DISMISSED) or marked or taken_away


def _check_uids(connection: Connection, space_id: int, located: Sequence[tuple[ItemLocation, Draft]]) -> None:
    """A uid that is taken is fine for the same thing in the same place only."""
    named = [(place.project_id or 0, draft) for place, draft in located if draft.uid is not None]
    if not named:
        return
    rows = connection.rows(
        f"SELECT uid, coalesce(project_id, 0), content_hash, id FROM items WHERE space_id = ? AND uid {IN_LIST}",
        (space_id, connection.array(draft.uid for _project, draft in named)),
    )
    taken = {uid: (project, content_hash, f"Item {id_} has") for uid, project, content_hash, id_ in rows}
    for project, draft in named:
        known = taken.setdefault(str(draft.uid), (project, draft.content_hash, "Two items of this call have"))
        if known[:2] != (project, draft.content_hash):
            raise Conflict(f"{known[2]} the uid {draft.uid} and says something else.", "Edit that item instead.")


# How many of the last characters are shown to whoever adds a chunk.
_END = 100
# Chunks have no column for the space on SQLite.
_CHUNKS = "stream_parts WHERE /*pg space_id = ?1 AND */ stream_id = ?2"
_SELECT = """
SELECT s.id, s.type, s.tags, p.name, s.status, s.created_ms, s.touched_ms,
       (SELECT count(*) FROM stream_parts t WHERE /*pg t.space_id = s.space_id AND */ t.stream_id = s.id),
       (SELECT CAST(coalesce(sum(length(t.text)), 0) AS bigint) FROM stream_parts t
         WHERE /*pg t.space_id = s.space_id AND */ t.stream_id = s.id)
  FROM streams s LEFT JOIN projects p ON p.space_id = s.space_id AND p.id = s.project_id WHERE s.space_id = ?
"""


class Streams(Space):
    """The streams of one space."""

    def start_stream(self, stream: Stream, most: int, idle_before_ms: int) -> bool:
        with self._database.write() as connection:
            _drop_idle_chunks(connection, self._space_id, idle_before_ms)
            select = "SELECT count(*) FROM streams WHERE space_id = ? AND status = 'open' AND touched_ms >= ?"
            if connection.value(select, (self._space_id, idle_before_ms)) >= most:
                return False
            _insert(connection, self._space_id, stream)
            return True

    def streams(self, idle_before_ms: int) -> list[Stream]:
        with self._database.read() as connection:
            condition = "AND s.status = 'open' AND s.touched_ms >= ? ORDER BY s.created_ms, s.id"
            return _streams(connection, self._space_id, condition, (idle_before_ms,))

    def append_stream(
        self, stream_id: str, chunk_after: Callable[[str], str], check: StreamCheck, now_ms: int
    ) -> Stream:
        with self._database.write() as connection:
            check(_get(connection, self._space_id, stream_id))
            chunk = chunk_after(_end_of(connection, self._space_id, stream_id))
            _append(connection, self._space_id, stream_id, chunk, now_ms)
            stream = _get(connection, self._space_id, stream_id)
            assert stream is not None
            return stream

    def finalize_stream(
        self, stream_id: str, draft_of: Callable[[Stream, str], Draft], check: StreamCheck, now_ms: int
    ) -> tuple[Stream, Stored]:
        with self._database.write() as connection:
            stream = check(_get(connection, self._space_id, stream_id))
            chunks = connection.rows(f"SELECT text FROM {_CHUNKS} ORDER BY seq", (self._space_id, stream.id))
            draft = draft_of(stream, "".join(chunk for (chunk,) in chunks))
            stored = put(connection, self._space_id, draft, now_ms)
            _close(connection, self._space_id, stream.id, "finalized", stored.id, now_ms)
            return stream, stored

    def cancel_stream(self, stream_id: str, check: StreamCheck, now_ms: int) -> Stream:
        with self._database.write() as connection:
            stream = check(_get(connection, self._space_id, stream_id))
            _close(connection, self._space_id, stream_id, "cancelled", None, now_ms)
            return stream


def _insert(connection: Connection, space_id: int, stream: Stream) -> None:
    project_id = None
    if stream.project is not None:
        project_id = projects.find_or_create(connection, space_id, stream.project, stream.touched_ms)
    connection.run(
        "INSERT INTO streams (space_id, id, project_id, type, tags, created_ms, touched_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (space_id, stream.id, project_id, stream.type, json.dumps(stream.tags), stream.touched_ms, stream.touched_ms),
    )


def _get(connection: Connection, space_id: int, stream_id: str) -> Stream | None:
    found = _streams(connection, space_id, "AND s.id = ?", (stream_id,))
    return found[0] if found else None


def _streams(connection: Connection, space_id: int, condition: str, bindings: Sequence[object]) -> list[Stream]:
    rows = connection.rows(f"{_SELECT} {condition}", (space_id, *bindings))
    return [Stream(id_, type_, tuple(list_of(tags)), *rest) for id_, type_, tags, *rest in rows]


def _drop_idle_chunks(connection: Connection, space_id: int, idle_before_ms: int) -> None:
    """Delete the chunks of abandoned streams. The streams stay, so that whoever comes back learns why."""
    connection.run(
        "DELETE FROM stream_parts WHERE /*pg space_id = ?1 AND */ stream_id IN"
        " (SELECT id FROM streams WHERE space_id = ?1 AND status = 'open' AND touched_ms < ?2)",
        (space_id, idle_before_ms),
    )


def _append(connection: Connection, space_id: int, stream_id: str, chunk: str, now_ms: int) -> None:
    connection.run(
        "INSERT INTO stream_parts (/*pg space_id, */ stream_id, seq, text)"
        " SELECT /*pg CAST(?1 AS integer), */ CAST(?2 AS text), coalesce(max(seq), 0) + 1, CAST(?3 AS text)"
        f" FROM {_CHUNKS}",
        (space_id, stream_id, chunk),
    )
    touch = "UPDATE streams SET touched_ms = ? WHERE space_id = ? AND id = ?"
    connection.run(touch, (now_ms, space_id, stream_id))


def _end_of(connection: Connection, space_id: int, stream_id: str) -> str:
    """The last characters of a stream, however small its chunks are."""
    select = f"SELECT substr(text, -{_END}) FROM {_CHUNKS} AND text <> '' ORDER BY seq DESC LIMIT {_END}"
    chunks = connection.rows(select, (space_id, stream_id))
    return "".join(chunk for (chunk,) in reversed(chunks))[-_END:]


def _close(
    connection: Connection, space_id: int, stream_id: str, status: str, item_id: int | None, now_ms: int
) -> None:
    connection.run(
        "UPDATE streams SET status = ?, item_id = ?, touched_ms = ? WHERE space_id = ? AND id = ?",
        (status, item_id, now_ms, space_id, stream_id),
    )
    connection.run(f"DELETE FROM {_CHUNKS}", (space_id, stream_id))
