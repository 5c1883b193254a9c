"""Writing many new items at once: a few statements for all of them, since each one is a trip to the server."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.errors import Conflict
from commonplace.identity import new_uid
from commonplace.model import Draft, Stored
from commonplace.store.postgres import index, sql
from commonplace.store.postgres.changes import SAME, Place, write_tags
from commonplace.store.postgres.hiding import restore
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sql import as_json

Placed = Sequence[tuple[Place, Draft]]

_INSERT = """
INSERT INTO items (space_id, uid, project_id, session_id, kind, type, title, body, details, meta, importance, tokens,
                   tagged, content_hash, created_ms, updated_ms)
SELECT %s, uid, project_id, session_id, kind, type, title, body, details, meta, importance, tokens,
       tagged, content_hash, created_ms, %s
  FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
              %s::text[], %s::float8[], %s::bigint[], %s::boolean[], %s::bytea[], %s::bigint[]) WITH ORDINALITY
       AS said (uid, project_id, session_id, kind, type, title, body, details, meta, importance, tokens, tagged,
                content_hash, created_ms, place)
 ORDER BY place
    ON CONFLICT (space_id, coalesce(project_id, 0), content_hash) DO NOTHING
RETURNING id, uid
"""


def insert_all(connection: Connection, space_id: int, placed: Placed, now_ms: int) -> list[Stored]:
    """Write items where they belong, not counted yet, or find that they are there already."""
    _check_uids(connection, space_id, placed)
    uids = [draft.uid or new_uid(now_ms) for _place, draft in placed]
    columns = [
        (
            uid,
            place.project_id,
            place.session_id,
            draft.kind,
            draft.type,
            draft.title,
            draft.body,
            as_json(draft.details),
            as_json(draft.meta),
            draft.importance,
            draft.tokens,
            bool(draft.tags),
            draft.content_hash,
            draft.created_ms,
        )
        for uid, (place, draft) in zip(uids, placed, strict=True)
    ]
    if not columns:
        return []
    bindings = (space_id, now_ms, *map(list, zip(*columns, strict=True)))
    new = {uid: int(id_) for id_, uid in sql.rows(connection, _INSERT, bindings)}
    fresh = [
        (new[uid], place.project_id, draft) for uid, (place, draft) in zip(uids, placed, strict=True) if uid in new
    ]
    for item_id, _project, draft in fresh:
        if draft.tags:
            write_tags(connection, space_id, item_id, draft.tags)
    index.add_all(connection, space_id, fresh)
    stored = []
    for uid, (place, draft) in zip(uids, placed, strict=True):
        # Taken out: the same uid may stand twice in what is written, and the second one is found again.
        made = new.pop(uid, None)
        if made is None:
            stored.append(_found_again(connection, space_id, place.project_id, draft, now_ms))
        else:
            stored.append(Stored(made, uid, duplicate=False))
    return stored


def _found_again(connection: Connection, space_id: int, project_id: int | None, draft: Draft, now_ms: int) -> Stored:
    item_id, uid = sql.rows(
        connection, f"SELECT id, uid FROM items WHERE {SAME}", (space_id, project_id or 0, draft.content_hash)
    )[0]
    # Saying again what was forgotten or superseded is wanting it back.
    restore(connection, space_id, [int(item_id)], now_ms)
    return Stored(int(item_id), str(uid), duplicate=True)


def _check_uids(connection: Connection, space_id: int, placed: Placed) -> None:
    """A uid that is taken is fine for the same thing in the same place only."""
    named = [(place.project_id or 0, draft) for place, draft in placed if draft.uid is not None]
    if not named:
        return
    rows = sql.rows(
        connection,
        "SELECT uid, coalesce(project_id, 0), content_hash, id FROM items"
        " WHERE space_id = %s AND uid = ANY(%s::text[])",
        (space_id, [draft.uid for _project, draft in named]),
    )
    taken = {uid: (project, content_hash, f"Item {id_} has") for uid, project, content_hash, id_ in rows}
    for project, draft in named:
        known = taken.setdefault(str(draft.uid), (project, draft.content_hash, "Two items of this call have"))
        if known[:2] != (project, draft.content_hash):
            raise Conflict(f"{known[2]} the uid {draft.uid} and says something else.", "Edit that item instead.")
