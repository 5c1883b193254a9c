"""Writing items: each once, with its passages, words and job, or found to be there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.model import Draft, Stored
from commonplace.store.postgres import index, sessions, sql
from commonplace.store.postgres.changes import Place, count_item, count_items
from commonplace.store.postgres.inserting import insert_all
from commonplace.store.postgres.items import get_one
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sql import as_json
from commonplace.store.sql import projects


def put_all(connection: Connection, space_id: int, drafts: Sequence[Draft], now_ms: int) -> list[Stored]:
    """Write items with their passages, words and jobs, or find that they are there already."""
    known_projects: dict[str, int] = {}
    settled = sessions.settled(connection, space_id, {draft.session for draft in drafts if draft.session is not None})
    known_sessions: dict[tuple[str, bool], int] = {}
    placed = []
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
            session_id = settled.get(draft.session) or known_sessions.get(key)
            if session_id is None:
                session_id = sessions.find_or_create(
                    connection, space_id, draft.session, project_id, draft.created_ms, now_ms
                )
                known_sessions[key] = session_id
        placed.append((Place(project_id, session_id), draft))
    stored = insert_all(connection, space_id, placed, now_ms)
    count_items(connection, space_id, [one for one, made in zip(placed, stored, strict=True) if not made.duplicate], +1)
    return stored


def put(connection: Connection, space_id: int, draft: Draft, now_ms: int) -> Stored:
    """Write one item."""
    return put_all(connection, space_id, [draft], now_ms)[0]


def follow_all(
    connection: Connection, space_id: int, place: Place, drafts: Sequence[Draft], now_ms: int
) -> list[Stored]:
    """Write items, or let those of the same identity say what their source says by now, without a history."""
    hashes = [draft.content_hash for draft in drafts]
    rows = sql.rows(
        connection,
        "SELECT content_hash, id FROM items WHERE space_id = %s AND coalesce(project_id, 0) = %s"
        " AND content_hash = ANY(%s::bytea[])",
        (space_id, place.project_id or 0, hashes),
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


def _follow(connection: Connection, space_id: int, place: Place, item_id: int, draft: Draft, now_ms: int) -> Stored:
    """Let an item say what its source says by now.

    The source keeps what was; one that was cut off says only how it began, and takes nothing away. An item that was
    forgotten stays forgotten, and one that a person changed as it is.
    """
    old = get_one(connection, space_id, item_id)
    grown = (old.body, old.details) != (draft.body, draft.details)
    # A document is what its file is now; a session that was cut off takes nothing away.
    cut_off = not draft.meta.get("document") and old.body != draft.body and old.body.startswith(draft.body)
    draft = replace(draft, meta={**old.meta, **draft.meta})
    if (
        old.forgotten_ms is None
        and not cut_off
        and old.superseded_by is None
        and (grown or draft.meta != old.meta)
        and not sql.value(
            connection,
            "SELECT EXISTS (SELECT 1 FROM history WHERE space_id = %s AND item_id = %s AND op = 'edit')",
            (space_id, old.id),
        )
    ):
        sql.run(
            connection,
            "UPDATE items SET title = %s, body = %s, details = %s, meta = %s, tokens = %s, created_ms = %s,"
            " updated_ms = %s, rev = rev + 1 WHERE space_id = %s AND id = %s",
            (
                draft.title,
                draft.body,
                as_json(draft.details),
                as_json(draft.meta),
                draft.tokens,
                draft.created_ms,
                now_ms,
                space_id,
                old.id,
            ),
        )
        if grown:
            index.regrow(connection, space_id, old.id, place.project_id, draft)
        count_item(connection, space_id, place, old, -1)
        count_item(connection, space_id, place, draft, +1)
    return Stored(old.id, old.uid, duplicate=True)
