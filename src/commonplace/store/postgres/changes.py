"""Changing items: rewrite and supersede; what they were stays in their history. hiding.py has the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.errors import Conflict
from commonplace.model import Draft, Item
from commonplace.store.postgres import index, sessions, sql
from commonplace.store.postgres.items import get_one
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.sql import as_json
from commonplace.store.records import separate_hash
from commonplace.store.rows import item_before
from commonplace.store.sql import projects

# Made once: making one takes longer than writing a few fields with it.
SAME = "space_id = %s AND coalesce(project_id, 0) = %s AND content_hash = %s"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item is put: the rows of its project and its session."""

    project_id: int | None
    session_id: int | None


def rewrite(
    connection: Connection, space_id: int, item_id: int, draft: Draft, now_ms: int, expect_rev: int | None
) -> Item:
    """Replace an item's content, keeping what it was in its history."""
    old = get_one(connection, space_id, item_id)
    if expect_rev is not None and old.rev != expect_rev:
        raise Conflict(f"Item {item_id} is at revision {old.rev}, not {expect_rev}.")
    if draft.kind != old.kind:
        raise Conflict(f"Item {item_id} is a {old.kind} and stays one.", "Remember it anew and forget the old one.")
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    _check_twin(connection, space_id, project_id, draft, item_id)
    remember_before(connection, space_id, [old], "edit", now_ms)
    before = place_of(connection, space_id, item_id)
    sql.run(
        connection,
        """
        UPDATE items SET project_id = %s, type = %s, title = %s, body = %s, details = %s, meta = %s, importance = %s,
               tokens = %s, tagged = %s, content_hash = %s, updated_ms = %s, rev = rev + 1
         WHERE space_id = %s AND id = %s
        """,
        (
            project_id,
            draft.type,
            draft.title,
            draft.body,
            as_json(draft.details),
            as_json(draft.meta),
            draft.importance,
            draft.tokens,
            bool(draft.tags),
            draft.content_hash,
            now_ms,
            space_id,
            item_id,
        ),
    )
    sql.run(connection, "DELETE FROM item_tags WHERE space_id = %s AND item_id = %s", (space_id, item_id))
    write_tags(connection, space_id, item_id, draft.tags)
    index.drop_passages(connection, space_id, item_id)
    if old.forgotten_ms is None and old.superseded_by is None:
        index.add(connection, space_id, item_id, project_id, draft)
        count_item(connection, space_id, before, old, -1)
        count_item(connection, space_id, Place(project_id, before.session_id), draft, +1)
    else:
        index.add_passages(connection, space_id, item_id, draft.passages)
    return get_one(connection, space_id, item_id)


def supersede(connection: Connection, space_id: int, old_id: int, new_id: int, now_ms: int) -> None:
    """Mark an item as replaced by another: it leaves search and context, and stays in history."""
    old, new = get_one(connection, space_id, old_id), get_one(connection, space_id, new_id)
    above: Item | None = new
    while above is not None:
        if above.id == old.id:
            raise Conflict(
                f"Item {old_id} cannot be superseded by {new_id}: they would replace each other.",
                "Name another item, or restore the one that was superseded first.",
            )
        above = None if above.superseded_by is None else get_one(connection, space_id, above.superseded_by)
    if old.superseded_by == new.id:
        return
    remember_before(connection, space_id, [old], "supersede", now_ms)
    sql.run(
        connection,
        "UPDATE items SET superseded_by = %s, valid_until_ms = %s, rev = rev + 1 WHERE space_id = %s AND id = %s",
        (new_id, now_ms, space_id, old_id),
    )
    if old.forgotten_ms is None and old.superseded_by is None:
        index.hide(connection, space_id, [old_id])
        count_item(connection, space_id, place_of(connection, space_id, old_id), old, -1)


def _check_twin(connection: Connection, space_id: int, project_id: int | None, draft: Draft, item_id: int) -> None:
    """No other live item may say the same in the same place; one that is forgotten or superseded steps aside."""
    twin_id = _twin_of(connection, space_id, project_id, draft.content_hash, item_id)
    if twin_id is None:
        return
    twin = get_one(connection, space_id, twin_id)
    if twin.forgotten_ms is None and twin.superseded_by is None:
        raise Conflict(
            f"Item {twin_id} already says exactly this in the same place.", f"Keep {twin_id} and forget {item_id}."
        )
    change = "UPDATE items SET content_hash = %s WHERE space_id = %s AND id = %s"
    sql.run(connection, change, (separate_hash(draft.content_hash, twin.uid), space_id, twin.id))


def _twin_of(
    connection: Connection, space_id: int, project_id: int | None, content_hash: bytes, item_id: int
) -> int | None:
    question = f"SELECT id FROM items WHERE {SAME} AND id <> %s"
    twin = sql.first(connection, question, (space_id, project_id or 0, content_hash, item_id))
    return None if twin is None else int(twin[0])


def remember_before(connection: Connection, space_id: int, items: Sequence[Item], op: str, now_ms: int) -> None:
    """Keep what items were before something is done to them."""
    sql.each(
        connection,
        "INSERT INTO history (space_id, item_id, rev, op, at_ms, before) VALUES (%s, %s, %s, %s, %s, %s)",
        [(space_id, item.id, item.rev, op, now_ms, as_json(item_before(item))) for item in items],
    )


def place_of(connection: Connection, space_id: int, item_id: int) -> Place:
    return places_of(connection, space_id, [item_id])[item_id]


def places_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, Place]:
    question = "SELECT id, project_id, session_id FROM items WHERE space_id = %s AND id = ANY(%s::bigint[])"
    return {id_: Place(*place) for id_, *place in sql.rows(connection, question, (space_id, list(item_ids)))}


def count_item(connection: Connection, space_id: int, place: Place, item: Draft | Item, sign: int) -> None:
    """Let the tallies of the project and of the session follow an item that comes or goes."""
    count_items(connection, space_id, [(place, item)], sign)


def count_items(connection: Connection, space_id: int, placed: Sequence[tuple[Place, Draft | Item]], sign: int) -> None:
    """The same for many of them."""
    for (project_id, kind), number in Counter((place.project_id, item.kind) for place, item in placed).items():
        index.count(connection, space_id, project_id, kind, sign * number)
    said: defaultdict[int, list[Draft | Item]] = defaultdict(list)
    for place, item in placed:
        if place.session_id is not None:
            said[place.session_id].append(item)
    sessions.count(connection, space_id, said, sign)


def write_tags(connection: Connection, space_id: int, item_id: int, tags: tuple[str, ...]) -> None:
    sql.each(
        connection,
        "INSERT INTO item_tags (space_id, tag, item_id) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [(space_id, tag, item_id) for tag in tags],
    )
