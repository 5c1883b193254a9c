"""Changing items: rewrite, forget, restore, supersede; what they were stays in their history."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from commonplace.errors import Conflict
from commonplace.identity import new_uid
from commonplace.model import Draft, Item
from commonplace.store.damage import content_checksum
from commonplace.store.records import separate_hash
from commonplace.store.rows import item_before
from commonplace.store.sql import projects
from commonplace.store.sqlite import index, sessions
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.items import get_one
from commonplace.text.dates import clamp_time

# Made once: making one takes longer than writing a few fields with it.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
SAME = "space_id = ? AND coalesce(project_id, 0) = ? AND content_hash = ?"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item is put: the rows of its project and its session."""

    project_id: int | None
    session_id: int | None


def rewrite(
    connection: SqliteConnection, space_id: int, item_id: int, draft: Draft, now_ms: int, expect_rev: int | None
) -> Item:
    """Replace an item's content, keeping what it was in its history."""
    old = changeable(connection, space_id, item_id)
    if expect_rev is not None and old.rev != expect_rev:
        raise Conflict(f"Item {item_id} is at revision {old.rev}, not {expect_rev}.")
    if draft.kind != old.kind:
        raise Conflict(f"Item {item_id} is a {old.kind} and stays one.", "Remember it anew and forget the old one.")
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    _check_twin(connection, space_id, project_id, draft, item_id)
    _remember_before(connection, space_id, old, "edit", now_ms)
    before = place_of(connection, item_id)
    connection.execute(
        """
        UPDATE items SET project_id = ?, type = ?, title = ?, body = ?, details = ?, meta = ?, importance = ?,
               tokens = ?, tagged = ?, content_hash = ?, checksum = ?, updated_ms = ?, rev = rev + 1
         WHERE id = ?
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
            content_checksum(draft.title, draft.body, as_json(draft.details)),
            now_ms,
            item_id,
        ),
    )
    connection.execute("DELETE FROM item_tags WHERE item_id = ?", (item_id,))
    write_tags(connection, space_id, item_id, draft.tags)
    index.drop_passages(connection, space_id, item_id)
    if old.forgotten_ms is None and old.superseded_by is None:
        index.add(connection, space_id, item_id, project_id, draft)
        count_item(connection, space_id, before, old, -1)
        count_item(connection, space_id, Place(project_id, before.session_id), draft, +1)
    else:
        index.add_passages(connection, space_id, item_id, draft.passages)
    return get_one(connection, space_id, item_id)


def forget(connection: SqliteConnection, space_id: int, item_id: int, now_ms: int) -> bool:
    """Take an item out of every answer but its own history. False if it was forgotten already."""
    item = changeable(connection, space_id, item_id)
    if item.forgotten_ms is not None:
        return False
    _remember_before(connection, space_id, item, "forget", now_ms)
    connection.execute("UPDATE items SET forgotten_ms = ?, rev = rev + 1 WHERE id = ?", (now_ms, item_id))
    if item.superseded_by is None:
        index.hide(connection, space_id, item_id)
        count_item(connection, space_id, place_of(connection, item_id), item, -1)
    return True


def restore(connection: SqliteConnection, space_id: int, item_id: int, now_ms: int) -> bool:
    """Undo forgetting and superseding. False if the item is live already."""
    item = changeable(connection, space_id, item_id)
    if item.forgotten_ms is None and item.superseded_by is None:
        return False
    _remember_before(connection, space_id, item, "restore", now_ms)
    connection.execute(
        "UPDATE items SET forgotten_ms = NULL, superseded_by = NULL, valid_until_ms = NULL, rev = rev + 1 WHERE id = ?",
        (item_id,),
    )
    place = place_of(connection, item_id)
    index.show(connection, space_id, place.project_id, item)
    count_item(connection, space_id, place, item, +1)
    return True


def move(connection: SqliteConnection, space_id: int, item_id: int, project_id: int | None, now_ms: int) -> None:
    """Let an item belong to another project. What says the same there stays beside it."""
    item, before = changeable(connection, space_id, item_id), place_of(connection, item_id)
    if before.project_id == project_id:
        return
    _remember_before(connection, space_id, item, "move", now_ms)
    content_hash = item.content_hash
    if _twin_of(connection, space_id, project_id, content_hash, item_id) is not None:
        # Moving is not saying: each of the two belongs to a conversation, or to none.
        content_hash = hashlib.sha256(content_hash + item.uid.encode()).digest()
    connection.execute(
        "UPDATE items SET project_id = ?, content_hash = ?, updated_ms = ?, rev = rev + 1 WHERE id = ?",
        (project_id, content_hash, now_ms, item_id),
    )
    if item.forgotten_ms is None and item.superseded_by is None:
        index.hide(connection, space_id, item_id)
        index.show(connection, space_id, project_id, item)
        index.count(connection, space_id, before.project_id, item.kind, -1)
        index.count(connection, space_id, project_id, item.kind, +1)


def supersede(connection: SqliteConnection, space_id: int, old_id: int, new_id: int, now_ms: int) -> None:
    """Mark an item as replaced by another: it leaves search and context, and stays in history."""
    old, new = changeable(connection, space_id, old_id), get_one(connection, space_id, new_id)
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
    _remember_before(connection, space_id, old, "supersede", now_ms)
    connection.execute(
        "UPDATE items SET superseded_by = ?, valid_until_ms = ?, rev = rev + 1 WHERE id = ?", (new_id, now_ms, old_id)
    )
    if old.forgotten_ms is None and old.superseded_by is None:
        index.hide(connection, space_id, old_id)
        count_item(connection, space_id, place_of(connection, old_id), old, -1)


def changeable(connection: SqliteConnection, space_id: int, item_id: int) -> Item:
    """An item that is about to be changed: a damaged one is first written as it was read.

    SQLite refuses to change a row with a value of the wrong type. What was found is kept by the history of the change.
    """
    item = get_one(connection, space_id, item_id)
    if item.damaged:
        details = as_json(item.details)
        connection.execute(
            "UPDATE items SET uid = ?, kind = ?, type = ?, title = ?, body = ?, details = ?, meta = ?, importance = ?,"
            " status = ?, tokens = ?, content_hash = ?, created_ms = ?, updated_ms = ?, rev = ?, forgotten_ms = ?,"
            " superseded_by = ?, checksum = ?, tagged = tagged <> 0,"
            " project_id = iif(typeof(project_id) = 'integer', project_id, NULL),"
            " session_id = iif(typeof(session_id) = 'integer', session_id, NULL),"
            " parent_id = NULL, accessed_ms = NULL, valid_until_ms = NULL WHERE id = ?",
            (
                new_uid(clamp_time(item.created_ms)) if "uid" in item.damaged else item.uid,
                item.kind,
                item.type,
                item.title,
                item.body,
                details,
                as_json(item.meta),
                item.importance,
                item.status,
                item.tokens,
                item.content_hash or hashlib.sha256(f"damaged {item.id}".encode()).digest(),
                clamp_time(item.created_ms),
                clamp_time(item.updated_ms),
                item.rev,
                item.forgotten_ms,
                item.superseded_by,
                content_checksum(item.title, item.body, details),
                item.id,
            ),
        )
    return item


def _check_twin(
    connection: SqliteConnection, space_id: int, project_id: int | None, draft: Draft, item_id: int
) -> None:
    """No other live item may say the same in the same place; one that is forgotten or superseded steps aside."""
    twin_id = _twin_of(connection, space_id, project_id, draft.content_hash, item_id)
    if twin_id is None:
        return
    twin = get_one(connection, space_id, twin_id)
    if twin.forgotten_ms is None and twin.superseded_by is None:
        raise Conflict(
            f"Item {twin_id} already says exactly this in the same place.", f"Keep {twin_id} and forget {item_id}."
        )
    aside = separate_hash(draft.content_hash, twin.uid)
    connection.execute("UPDATE items SET content_hash = ? WHERE id = ?", (aside, twin.id))


def _twin_of(
    connection: SqliteConnection, space_id: int, project_id: int | None, content_hash: bytes, item_id: int
) -> int | None:
    question = f"SELECT id FROM items WHERE {SAME} AND id <> ?"
    twin = connection.first(question, (space_id, project_id or 0, content_hash, item_id))
    return None if twin is None else int(twin[0])


def _remember_before(connection: SqliteConnection, space_id: int, item: Item, op: str, now_ms: int) -> None:
    connection.execute(
        "INSERT INTO history (space_id, item_id, rev, op, at_ms, before) VALUES (?, ?, ?, ?, ?, ?)",
        (space_id, item.id, item.rev, op, now_ms, as_json(item_before(item))),
    )


def place_of(connection: SqliteConnection, item_id: int) -> Place:
    return Place(*connection.rows("SELECT project_id, session_id FROM items WHERE id = ?", (item_id,))[0])


def count_item(connection: SqliteConnection, space_id: int, place: Place, item: Draft | Item, sign: int) -> None:
    """Let the tallies of the project and of the session follow an item that comes or goes."""
    index.count(connection, space_id, place.project_id, item.kind, sign)
    if place.session_id is not None:
        sessions.count(connection, place.session_id, [item], sign)


def write_tags(connection: SqliteConnection, space_id: int, item_id: int, tags: tuple[str, ...]) -> None:
    for tag in tags:
        connection.execute(
            "INSERT OR IGNORE INTO item_tags (space_id, tag, item_id) VALUES (?, ?, ?)", (space_id, tag, item_id)
        )


def as_json(value: object) -> str:
    return _ENCODER.encode(value) if value else "{}"
