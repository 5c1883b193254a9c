"""Forgetting, restoring and moving items: many in a few statements, since each one is a trip to the server."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from commonplace.errors import NotFound
from commonplace.model import Item
from commonplace.store.postgres import index, items, sql
from commonplace.store.postgres.changes import count_items, places_of, remember_before
from commonplace.store.postgres.pool import Connection


def forget(connection: Connection, space_id: int, item_ids: Sequence[int], now_ms: int) -> list[int]:
    """Take items out of every answer but their own history. Tells which were not forgotten already."""
    chosen = [item for item in _named(connection, space_id, item_ids) if item.forgotten_ms is None]
    remember_before(connection, space_id, chosen, "forget", now_ms)
    forgotten = [item.id for item in chosen]
    sql.run(
        connection,
        "UPDATE items SET forgotten_ms = %s, rev = rev + 1 WHERE space_id = %s AND id = ANY(%s::bigint[])",
        (now_ms, space_id, forgotten),
    )
    live = {item.id: item for item in chosen if item.superseded_by is None}
    index.hide(connection, space_id, [*live])
    places = places_of(connection, space_id, [*live])
    count_items(connection, space_id, [(places[id_], item) for id_, item in live.items()], -1)
    return forgotten


def restore(connection: Connection, space_id: int, item_ids: Sequence[int], now_ms: int) -> list[int]:
    """Undo forgetting and superseding. Tells which were not live already."""
    chosen = [item for item in _named(connection, space_id, item_ids) if not _is_live(item)]
    remember_before(connection, space_id, chosen, "restore", now_ms)
    restored = [item.id for item in chosen]
    sql.run(
        connection,
        "UPDATE items SET forgotten_ms = NULL, superseded_by = NULL, valid_until_ms = NULL, rev = rev + 1"
        " WHERE space_id = %s AND id = ANY(%s::bigint[])",
        (space_id, restored),
    )
    places = places_of(connection, space_id, restored)
    index.show(connection, space_id, [(places[item.id].project_id, item) for item in chosen])
    count_items(connection, space_id, [(places[item.id], item) for item in chosen], +1)
    return restored


def move(connection: Connection, space_id: int, item_ids: Sequence[int], project_id: int | None, now_ms: int) -> None:
    """Let items belong to another project. What says the same there stays beside them."""
    places = places_of(connection, space_id, item_ids)
    chosen = [i for i in _named(connection, space_id, item_ids) if places[i.id].project_id != project_id]
    remember_before(connection, space_id, chosen, "move", now_ms)
    sql.each(
        connection,
        "UPDATE items SET project_id = %s, content_hash = %s, updated_ms = %s, rev = rev + 1"
        " WHERE space_id = %s AND id = %s",
        [
            (project_id, content_hash, now_ms, space_id, item.id)
            for item, content_hash in zip(chosen, _apart(connection, space_id, project_id, chosen), strict=True)
        ],
    )
    live = [item for item in chosen if _is_live(item)]
    index.hide(connection, space_id, [item.id for item in live])
    index.show(connection, space_id, [(project_id, item) for item in live])
    for (left, kind), number in Counter((places[item.id].project_id, item.kind) for item in live).items():
        index.count(connection, space_id, left, kind, -number)
        index.count(connection, space_id, project_id, kind, +number)


def _apart(connection: Connection, space_id: int, project_id: int | None, moved: Sequence[Item]) -> list[bytes]:
    """The hash of each item in another project. Moving is not saying: what says the same there stays another item."""
    rows = sql.rows(
        connection,
        "SELECT content_hash FROM items WHERE space_id = %s AND coalesce(project_id, 0) = %s"
        " AND content_hash = ANY(%s::bytea[])",
        (space_id, project_id or 0, [item.content_hash for item in moved]),
    )
    taken = {row[0] for row in rows}
    hashes = []
    for item in moved:
        own = hashlib.sha256(item.content_hash + item.uid.encode()).digest()
        hashes.append(own if item.content_hash in taken else item.content_hash)
        taken.add(item.content_hash)
    return hashes


def _named(connection: Connection, space_id: int, item_ids: Sequence[int]) -> list[Item]:
    """Items in the order given, each once; NotFound if one of them does not exist."""
    found = items.get(connection, space_id, item_ids)
    for item_id in item_ids:
        if item_id not in found:
            raise NotFound(f"There is no item {item_id}.")
    return [found[item_id] for item_id in dict.fromkeys(item_ids)]


def _is_live(item: Item) -> bool:
    return item.forgotten_ms is None and item.superseded_by is None
