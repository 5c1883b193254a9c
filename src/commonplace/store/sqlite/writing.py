"""Writing items: each once, with its passages, words and job, or found to be there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.errors import Conflict
from commonplace.identity import new_uid
from commonplace.model import Draft, Stored
from commonplace.store.damage import content_checksum
from commonplace.store.sql import projects
from commonplace.store.sqlite import index, sessions
from commonplace.store.sqlite.changes import SAME, Place, as_json, changeable, count_item, restore, write_tags
from commonplace.store.sqlite.connection import SqliteConnection


def put_all(connection: SqliteConnection, space_id: int, drafts: Sequence[Draft], now_ms: int) -> list[Stored]:
    """Write items with their passages, words and jobs, or find that they are there already."""
    words = index.Words()
    stored = [put(connection, space_id, draft, now_ms, words) for draft in drafts]
    words.write(connection)
    return stored


def put(
    connection: SqliteConnection, space_id: int, draft: Draft, now_ms: int, words: index.Words | None = None
) -> Stored:
    """Write one item; given `words`, its own wait there to be written."""
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    session_id = None
    if draft.session is not None:
        session_id = sessions.find_or_create(connection, space_id, draft.session, project_id, draft.created_ms, now_ms)
    stored = insert(connection, space_id, Place(project_id, session_id), draft, now_ms, words)
    if not stored.duplicate:
        count_item(connection, space_id, Place(project_id, session_id), draft, +1)
    return stored


def insert(
    connection: SqliteConnection,
    space_id: int,
    place: Place,
    draft: Draft,
    now_ms: int,
    words: index.Words | None = None,
) -> Stored:
    """Write one item where it belongs, not counted yet."""
    if draft.uid is not None:
        _check_uid(connection, space_id, place.project_id, draft)
    uid, details = draft.uid or new_uid(now_ms), as_json(draft.details)
    # Without RETURNING: that would open a savepoint, at which FTS5 writes out what it gathered.
    connection.execute(
        """
        INSERT INTO items (uid, space_id, project_id, session_id, kind, type, title, body, details, meta, importance,
                           tokens, tagged, content_hash, checksum, created_ms, updated_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (space_id, coalesce(project_id, 0), content_hash) DO NOTHING
        """,
        (
            uid,
            space_id,
            place.project_id,
            place.session_id,
            draft.kind,
            draft.type,
            draft.title,
            draft.body,
            details,
            as_json(draft.meta),
            draft.importance,
            draft.tokens,
            bool(draft.tags),
            draft.content_hash,
            content_checksum(draft.title, draft.body, details),
            draft.created_ms,
            now_ms,
        ),
    )
    if not connection.changes():
        return _found_again(connection, space_id, place.project_id, draft, now_ms)
    item_id = connection.last_insert_rowid()
    write_tags(connection, space_id, item_id, draft.tags)
    index.add(connection, space_id, item_id, place.project_id, draft, words)
    return Stored(item_id, uid, duplicate=False)


def follow(
    connection: SqliteConnection, space_id: int, place: Place, draft: Draft, now_ms: int, words: index.Words
) -> Stored:
    """Write an item, or let the one of the same identity say what its source says by now, without a history.

    The source keeps what was; one that was cut off says only how it began, and takes nothing away. An item that was
    forgotten stays forgotten, and one that a person changed as it is.
    """
    same = (space_id, place.project_id or 0, draft.content_hash)
    row = connection.first(f"SELECT id, uid FROM items WHERE {SAME}", same)
    if row is None:
        return insert(connection, space_id, place, draft, now_ms, words)
    old = changeable(connection, space_id, row[0])
    grown = (old.body, old.details) != (draft.body, draft.details)
    # A document is what its file is now; a session that was cut off takes nothing away.
    cut_off = not draft.meta.get("document") and old.body != draft.body and old.body.startswith(draft.body)
    draft = replace(draft, meta={**old.meta, **draft.meta})
    if (
        old.forgotten_ms is None
        and not cut_off
        and old.superseded_by is None
        and (grown or draft.meta != old.meta)
        and not connection.value("SELECT EXISTS (SELECT 1 FROM history WHERE item_id = ? AND op = 'edit')", (old.id,))
    ):
        connection.execute(
            "UPDATE items SET title = ?, body = ?, details = ?, meta = ?, tokens = ?, checksum = ?, created_ms = ?,"
            " updated_ms = ?, rev = rev + 1 WHERE id = ?",
            (
                draft.title,
                draft.body,
                as_json(draft.details),
                as_json(draft.meta),
                draft.tokens,
                content_checksum(draft.title, draft.body, as_json(draft.details)),
                draft.created_ms,
                now_ms,
                old.id,
            ),
        )
        if grown:
            # Its words may be among those that wait.
            words.write(connection)
            index.regrow(connection, space_id, old.id, place.project_id, draft)
        count_item(connection, space_id, place, old, -1)
        count_item(connection, space_id, place, draft, +1)
    return Stored(old.id, old.uid, duplicate=True)


def _found_again(
    connection: SqliteConnection, space_id: int, project_id: int | None, draft: Draft, now_ms: int
) -> Stored:
    item_id, uid = connection.rows(
        f"SELECT id, uid FROM items WHERE {SAME}", (space_id, project_id or 0, draft.content_hash)
    )[0]
    # Saying again what was forgotten or superseded is wanting it back.
    restore(connection, space_id, int(item_id), now_ms)
    return Stored(int(item_id), str(uid), duplicate=True)


def _check_uid(connection: SqliteConnection, space_id: int, project_id: int | None, draft: Draft) -> None:
    """A uid that is taken is fine for the same thing in the same place only."""
    row = connection.first(
        "SELECT id, coalesce(project_id, 0), content_hash FROM items WHERE space_id = ? AND uid = ?",
        (space_id, draft.uid),
    )
    if row and row[1:] != (project_id or 0, draft.content_hash):
        raise Conflict(f"Item {row[0]} has the uid {draft.uid} and says something else.", "Edit that item instead.")
