"""Changing items: rewrite, forget, restore, move, supersede; what they were stays in their history."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from commonplace.errors import Conflict, NotFound
from commonplace.model import (
    ACCEPTED,
    DISMISSED,
    PROPOSED,
    SOURCE_FIELDS,
    UNKNOWN_AUTHOR,
    VALIDITY_FIELDS,
    Author,
    Draft,
    Item,
)
from commonplace.store.damaged_values import content_checksum, object_of
from commonplace.store.records import separate_hash
from commonplace.store.rows import item_before, state_before_planned_end
from commonplace.store.sql import indexing, items, projects, sessions
from commonplace.store.sql.connection import IN_BLOBS, IN_LIST, Connection
from commonplace.text.plain_form import fingerprint

_OF_ITEM = "space_id = ? AND item_id = ?"
SAME = "space_id = ? AND coalesce(project_id, 0) = ? AND content_hash = ?"


class ItemLocation(NamedTuple):
    """Where an item is put: the rows of its project and its session."""

    project_id: int | None
    session_id: int | None


Located = Sequence[tuple[ItemLocation, Draft | Item]]


def rewrite(
    connection: Connection,
    space_id: int,
    item_id: int,
    draft: Draft,
    now_ms: int,
    expect_rev: int | None,
    by: Author,
) -> Item:
    """Replace an item's content, keeping what it was in its history."""
    old = changeable(connection, space_id, item_id)
    if expect_rev is not None and old.rev != expect_rev:
        raise Conflict(f"Item {item_id} is at revision {old.rev}, not {expect_rev}.")
    if draft.kind != old.kind:
        raise Conflict(f"Item {item_id} is a {old.kind} and stays one.", "Remember it anew and forget the old one.")
    project_id = None if draft.project is None else projects.find_or_create(connection, space_id, draft.project, now_ms)
    _check_twin(connection, space_id, project_id, draft, item_id)
    record_before(connection, space_id, [old], "edit", now_ms, by)
    before = location_of(connection, space_id, item_id)
    changed = {
        "project_id": project_id,
        "type": draft.type,
        "importance": draft.importance,
        "tagged": bool(draft.tags),
        "content_hash": draft.content_hash,
        "updated_ms": now_ms,
    }
    update(connection, space_id, item_id, changed | content_columns(connection, draft) | source_columns(draft))
    connection.run("DELETE FROM item_tags WHERE +space_id = ? AND item_id = ?", (space_id, item_id))
    write_tags(connection, space_id, [(item_id, draft.tags)])
    indexing.delete_passages(connection, space_id, item_id)
    if is_live(old):
        indexing.add(connection, space_id, item_id, project_id, draft)
        count_items(connection, space_id, [(before, old)], -1)
        count_items(connection, space_id, [(ItemLocation(project_id, before.session_id), draft)], +1)
    else:
        indexing.add_passages(connection, space_id, item_id, draft.passages)
    return items.get_one(connection, space_id, item_id)


def forget(
    connection: Connection,
    space_id: int,
    item_ids: Sequence[int],
    now_ms: int,
    by: Author = UNKNOWN_AUTHOR,
    *,
    dismissed: bool = False,
) -> list[int]:
    """Take items out of every answer but their own history. Returns those that were not forgotten already.

    A proposal that is `dismissed` is not brought back by being proposed again.
    """
    chosen = [item for item in _changeable_all(connection, space_id, item_ids) if item.forgotten_ms is None]
    record_before(connection, space_id, chosen, "dismiss" if dismissed else "forget", now_ms, by)
    forgotten = [item.id for item in chosen]
    turned_down = f", review = '{DISMISSED}'" if dismissed else ""
    connection.run(
        f"UPDATE items SET forgotten_ms = ?, rev = rev + 1{turned_down} WHERE +space_id = ? AND id {IN_LIST}",
        (now_ms, space_id, connection.array(forgotten)),
    )
    live = {item.id: item for item in chosen if item.superseded_by is None}
    indexing.hide(connection, space_id, [*live])
    locations = locations_of(connection, space_id, [*live])
    count_items(connection, space_id, [(locations[id_], item) for id_, item in live.items()], -1)
    return forgotten


def restore(
    connection: Connection,
    space_id: int,
    item_ids: Sequence[int],
    now_ms: int,
    by: Author = UNKNOWN_AUTHOR,
    *,
    planned: bool = False,
) -> list[int]:
    """Undo forgetting and superseding. Returns those that this changed; what was dismissed waits again.

    With `planned` a live item loses the end that it got because what replaces it is still to come.
    """
    found = _changeable_all(connection, space_id, item_ids)
    chosen = [item for item in found if not is_live(item)]
    ends = _ends_before_superseding(connection, space_id, chosen)
    opened = _take_back_ends(connection, space_id, [item for item in found if is_live(item)], now_ms, by, planned)
    record_before(connection, space_id, chosen, "restore", now_ms, by)
    restored = [item.id for item in chosen]
    connection.run_all(
        "UPDATE items SET forgotten_ms = NULL, superseded_by = NULL, valid_until_ms = ?,"
        f" review = CASE WHEN review = '{DISMISSED}' THEN '{PROPOSED}' ELSE review END, rev = rev + 1"
        " WHERE space_id = ? AND id = ?",
        [(ends[item_id], space_id, item_id) for item_id in restored],
    )
    locations = locations_of(connection, space_id, restored)
    indexing.show(connection, space_id, [(locations[item.id].project_id, item) for item in chosen])
    count_items(connection, space_id, [(locations[item.id], item) for item in chosen], +1)
    return [*restored, *opened]


def _take_back_ends(
    connection: Connection, space_id: int, live: Sequence[Item], now_ms: int, by: Author, planned: bool
) -> list[int]:
    """Let live items hold as long as they did before something that is still to come superseded them."""
    changed: list[int] = []
    for item in live if planned else ():
        select = f"SELECT op, before FROM history WHERE {_OF_ITEM} ORDER BY rev, id"
        lines = [(op, object_of(before)) for op, before in connection.rows(select, (space_id, item.id))]
        before = state_before_planned_end(lines, item_before(item))
        if before is not None:
            record_before(connection, space_id, [item], "restore", now_ms, by)
            update(connection, space_id, item.id, {"valid_until_ms": before.get("valid_until_ms")})
            changed.append(item.id)
    return changed


def accept(connection: Connection, space_id: int, item_ids: Sequence[int], now_ms: int, by: Author) -> None:
    """Let proposals count as agreed, by whoever accepts them; their history keeps who proposed them."""
    chosen = [item for item in _changeable_all(connection, space_id, item_ids) if item.review == PROPOSED]
    record_before(connection, space_id, chosen, "accept", now_ms, by)
    for item in chosen:
        update(connection, space_id, item.id, {"author": by.name, "origin": "agreed", "review": ACCEPTED})


def propose_again(connection: Connection, space_id: int, item_ids: Sequence[int], now_ms: int, by: Author) -> None:
    """Let what was accepted or dismissed wait for review, as whoever proposed it wrote it."""
    chosen = _changeable_all(connection, space_id, item_ids)
    restore(connection, space_id, [item.id for item in chosen if item.review == DISMISSED], now_ms, by)
    accepted = [item for item in chosen if item.review == ACCEPTED]
    last = f"SELECT before FROM history WHERE {_OF_ITEM} AND op = 'accept' ORDER BY rev DESC, id DESC LIMIT 1"
    for item in accepted:
        row = connection.first(last, (space_id, item.id))
        before = {} if row is None else object_of(row[0])
        record_before(connection, space_id, [item], "propose", now_ms, by)
        proposer = {name: before.get(name) for name in ("author", "origin")}
        update(connection, space_id, item.id, {**proposer, "review": PROPOSED})


def move(connection: Connection, space_id: int, item_ids: Sequence[int], project_id: int | None, now_ms: int) -> None:
    """Let items belong to another project. What says the same there stays another item."""
    locations = locations_of(connection, space_id, item_ids)
    chosen = [
        item for item in _changeable_all(connection, space_id, item_ids) if locations[item.id].project_id != project_id
    ]
    record_before(connection, space_id, chosen, "move", now_ms)
    hashes = _hashes_in(connection, space_id, project_id, chosen)
    connection.run_all(
        "UPDATE items SET project_id = ?, content_hash = ?, updated_ms = ?, rev = rev + 1"
        " WHERE space_id = ? AND id = ?",
        [(project_id, own, now_ms, space_id, item.id) for item, own in zip(chosen, hashes, strict=True)],
    )
    live = [item for item in chosen if is_live(item)]
    indexing.hide(connection, space_id, [item.id for item in live])
    indexing.show(connection, space_id, [(project_id, item) for item in live])
    for (left, kind), number in Counter((locations[item.id].project_id, item.kind) for item in live).items():
        indexing.count(connection, space_id, left, kind, -number)
        indexing.count(connection, space_id, project_id, kind, +number)


def _ends_before_superseding(connection: Connection, space_id: int, chosen: Sequence[Item]) -> dict[int, int | None]:
    """Until when each item was said to hold. Superseding closed that interval, and its history has what it was."""
    ends = {item.id: item.valid_until_ms for item in chosen}
    replaced = [item.id for item in chosen if item.superseded_by is not None]
    rows = connection.rows(
        f"SELECT item_id, before FROM history WHERE +space_id = ? AND item_id {IN_LIST} AND op = 'supersede'"
        " ORDER BY rev, id",
        (space_id, connection.array(replaced)),
    )
    lines: dict[int, list[Mapping[str, object]]] = {item_id: [] for item_id in replaced}
    for item_id, before in rows:
        lines[item_id].append(object_of(before))
    return ends | {item_id: end_before_superseding(of_item) for item_id, of_item in lines.items()}


def end_before_superseding(lines: Sequence[Mapping[str, object]]) -> int | None:
    """Until when an item was said to hold, by what it was before each time that it was superseded, in order."""
    ends = [before.get("valid_until_ms") for before in lines if before.get("superseded_by") is None]
    return ends[-1] if ends and isinstance(ends[-1], int) else None


def supersede(
    connection: Connection, space_id: int, old_id: int, new_id: int, now_ms: int, by: Author = UNKNOWN_AUTHOR
) -> None:
    """Mark an item as replaced by another: it leaves search and context, and stays in history.

    It held until the other one began to hold (`end_when_replaced`). If that is still to come, the old one only gets its
    end, and is found until then.
    """
    old, new = changeable(connection, space_id, old_id), items.get_one(connection, space_id, new_id)
    above: Item | None = new
    while above is not None:
        if above.id == old.id:
            raise Conflict(
                f"Item {old_id} cannot be superseded by {new_id}: they would replace each other.",
                "Name another item, or restore the one that was superseded first.",
            )
        above = None if above.superseded_by is None else items.get_one(connection, space_id, above.superseded_by)
    if old.superseded_by == new.id:
        return
    if new.valid_from_ms is not None and new.valid_from_ms > now_ms and is_live(old):
        # It holds until then.
        if old.valid_until_ms is None or old.valid_until_ms > new.valid_from_ms:
            record_before(connection, space_id, [old], "supersede", now_ms, by)
            update(connection, space_id, old_id, {"valid_until_ms": new.valid_from_ms})
        return
    record_before(connection, space_id, [old], "supersede", now_ms, by)
    end = end_when_replaced(old, new, now_ms)
    update(connection, space_id, old_id, {"superseded_by": new_id, "valid_until_ms": end})
    if is_live(old):
        indexing.hide(connection, space_id, [old_id])
        count_items(connection, space_id, [(location_of(connection, space_id, old_id), old)], -1)


def end_when_replaced(old: Item, new: Item, at_ms: int) -> int:
    """Until when an item held that was marked as replaced at a moment.

    It held until the other one began to hold: from when that says, or else from when it was said. What an older one
    replaces held until it was marked.
    """
    began = new.valid_from_ms
    if began is None and new.created_ms > old.created_ms:
        began = new.created_ms
    return min(end for end in (old.valid_until_ms, began, at_ms) if end is not None)


def changeable(connection: Connection, space_id: int, item_id: int) -> Item:
    """An item that is about to be changed: a damaged one is first written as it was read.

    What was found is kept by the history of the change.
    """
    item = items.get_one(connection, space_id, item_id)
    if item.damaged:
        connection.make_item_changeable(item)
    return item


def _changeable_all(connection: Connection, space_id: int, item_ids: Sequence[int]) -> list[Item]:
    """Items in the order given, each once; NotFound if one of them does not exist."""
    found = items.get(connection, space_id, item_ids)
    for item_id in item_ids:
        if item_id not in found:
            raise NotFound(f"There is no item {item_id}.")
    for item in found.values():
        if item.damaged:
            connection.make_item_changeable(item)
    return [found[item_id] for item_id in dict.fromkeys(item_ids)]


def is_live(item: Item) -> bool:
    return item.forgotten_ms is None and item.superseded_by is None


def update(connection: Connection, space_id: int, item_id: int, columns: Mapping[str, object]) -> None:
    """Change columns of an item, which gets another revision."""
    changes = ", ".join(f"{name} = ?" for name in columns)
    connection.run(
        f"UPDATE items SET {changes}, rev = rev + 1 WHERE space_id = ? AND id = ?",
        (*columns.values(), space_id, item_id),
    )


def content_columns(connection: Connection, draft: Draft) -> dict[str, object]:
    """What an item says, as its columns are written."""
    details = connection.as_json(draft.details)
    columns: dict[str, object] = {
        "title": draft.title,
        "body": draft.body,
        "details": details,
        "meta": connection.as_json(draft.meta),
        "tokens": draft.tokens,
    }
    if connection.has_checksums:
        columns["checksum"] = content_checksum(draft.title, draft.body, details)
    if connection.has_fingerprints:
        columns["fingerprint"] = fingerprint(draft.body) if draft.kind == "memory" else None
    return columns


def source_columns(draft: Draft) -> dict[str, object]:
    """When an item holds and who said it, as its columns are written."""
    return {name: getattr(draft, name) for name in (*VALIDITY_FIELDS, *SOURCE_FIELDS)}


def record_before(
    connection: Connection,
    space_id: int,
    changed: Sequence[Item],
    op: str,
    now_ms: int,
    by: Author = UNKNOWN_AUTHOR,
) -> None:
    """Keep what items were before somebody does something to them."""
    connection.run_all(
        "INSERT INTO history (space_id, item_id, rev, op, at_ms, before, author, origin)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (space_id, item.id, item.rev, op, now_ms, connection.as_json(item_before(item)), by.name, by.origin)
            for item in changed
        ],
    )


def location_of(connection: Connection, space_id: int, item_id: int) -> ItemLocation:
    return locations_of(connection, space_id, [item_id])[item_id]


def locations_of(connection: Connection, space_id: int, item_ids: Sequence[int]) -> dict[int, ItemLocation]:
    select = f"SELECT id, project_id, session_id FROM items WHERE +space_id = ? AND id {IN_LIST}"
    rows = connection.rows(select, (space_id, connection.array(item_ids)))
    return {id_: ItemLocation(project_id, session_id) for id_, project_id, session_id in rows}


def count_items(connection: Connection, space_id: int, located: Located, sign: int) -> None:
    """Let the tallies of projects and sessions follow items that come or go."""
    for (project_id, kind), number in Counter((place.project_id, item.kind) for place, item in located).items():
        indexing.count(connection, space_id, project_id, kind, sign * number)
    by_session: defaultdict[int, list[Draft | Item]] = defaultdict(list)
    for place, item in located:
        if place.session_id is not None:
            by_session[place.session_id].append(item)
    sessions.count(connection, space_id, by_session, sign)


def write_tags(connection: Connection, space_id: int, tagged: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Write the tags of items (id, tags)."""
    connection.run_all(
        "INSERT INTO item_tags (space_id, tag, item_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(space_id, tag, item_id) for item_id, tags in tagged for tag in tags],
    )


def _check_twin(connection: Connection, space_id: int, project_id: int | None, draft: Draft, item_id: int) -> None:
    """No other live item may say the same in the same place; one that is forgotten or superseded steps aside."""
    same = (space_id, project_id or 0, draft.content_hash, item_id)
    row = connection.first(f"SELECT id FROM items WHERE {SAME} AND id <> ?", same)
    if row is None:
        return
    twin = items.get_one(connection, space_id, int(row[0]))
    if is_live(twin):
        raise Conflict(
            f"Item {twin.id} already says exactly this in the same place.", f"Keep {twin.id} and forget {item_id}."
        )
    change = "UPDATE items SET content_hash = ? WHERE space_id = ? AND id = ?"
    connection.run(change, (separate_hash(draft.content_hash, twin.uid), space_id, twin.id))


def _hashes_in(connection: Connection, space_id: int, project_id: int | None, moved: Sequence[Item]) -> list[bytes]:
    """The hash of each item in another project. Moving is not saying: what says the same there stays another item."""
    rows = connection.rows(
        "SELECT content_hash FROM items WHERE space_id = ? AND coalesce(project_id, 0) = ?"
        f" AND content_hash {IN_BLOBS}",
        (space_id, project_id or 0, connection.array(item.content_hash for item in moved)),
    )
    taken = {row[0] for row in rows}
    hashes = []
    for item in moved:
        own = hashlib.sha256(item.content_hash + item.uid.encode()).digest()
        hashes.append(own if item.content_hash in taken else item.content_hash)
        taken.add(item.content_hash)
    return hashes
