"""Reading items: by id, by time, by neighbourhood, and what they were before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from commonplace.errors import NotFound
from commonplace.identity import Ref
from commonplace.model import KINDS, Change, Item, Kind
from commonplace.store.rows import change_of, item_of
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.scope import Filter

_SELECT = """
SELECT i.id, i.uid, i.kind, i.type, i.title, i.body, i.details, i.meta, p.name, s.key,
       CASE WHEN i.tagged THEN (SELECT json_group_array(tag) FROM item_tags t WHERE t.item_id = i.id) END,
       i.importance, i.status, i.tokens, i.created_ms, i.updated_ms, i.rev, i.forgotten_ms, i.superseded_by,
       i.content_hash
  FROM {rows} LEFT JOIN projects p ON p.id = i.project_id LEFT JOIN sessions s ON s.id = i.session_id
"""
# Cross joined, so that SQLite looks up what was asked for instead of walking an index and comparing.
_BY_ID = _SELECT.format(rows="json_each(?2) j CROSS JOIN items i ON i.id = j.value")
_BY_TIME = _SELECT.format(rows="items i")
# With a bound on time SQLite takes the index of time alone, and would look at every other kind on the way.
_BY_KIND = _SELECT.format(rows="items i INDEXED BY items_kind")

# All of time, in milliseconds.
_ALWAYS = (-(2**62), 2**62)


def get(connection: SqliteConnection, space_id: int, item_ids: Iterable[int]) -> dict[int, Item]:
    """Items by id, forgotten ones too; ids that do not exist are absent."""
    ids = [i for i in dict.fromkeys(item_ids) if -(2**63) <= i < 2**63]
    rows = connection.rows(_BY_ID + " WHERE i.space_id = ?1", (space_id, json.dumps(ids)))
    return {item.id: item for item in map(_item, rows)}


def get_one(connection: SqliteConnection, space_id: int, item_id: int) -> Item:
    item = get(connection, space_id, [item_id]).get(item_id)
    if item is None:
        raise NotFound(f"There is no item {item_id}.")
    return item


def newest(
    connection: SqliteConnection, space_id: int, filter_: Filter, limit: int, before: tuple[int, int] | None
) -> list[Item]:
    """Live items, newest first; `before` is the (created_ms, id) to go on from."""
    found: list[Item] = []
    for walk in walks(filter_):
        condition, bindings = walk.sql()
        if before:
            condition += " AND (i.created_ms, i.id) < (?, ?)"
            bindings += before
        rows = connection.rows(
            f"{_BY_TIME} WHERE i.space_id = ? AND {condition} ORDER BY i.created_ms DESC, i.id DESC LIMIT ?",
            [space_id, *bindings, limit],
        )
        found += map(_item, rows)
    return sorted(found, key=_when, reverse=True)[:limit]


def between(
    connection: SqliteConnection,
    space_id: int,
    filter_: Filter,
    span: tuple[int, int],
    limit: int,
    beyond: tuple[int, int] | None,
    oldest_first: bool,
) -> list[Item]:
    """Live items of a time in its order; those of one session along its own index."""
    # One bound on either side: of two, an index is walked from the looser one.
    lower, upper = (span[0], -1), (span[1], 0)
    if beyond and oldest_first:
        lower = max(lower, beyond)
    elif beyond:
        upper = min(upper, beyond)
    order = "ASC" if oldest_first else "DESC"
    alone = filter_.sessions is not None and len(filter_.sessions) == 1
    found: list[Item] = []
    for walk in [filter_] if alone else walks(filter_):
        condition, bindings = walk.sql()
        condition += " AND (i.created_ms, i.id) > (?, ?) AND (i.created_ms, i.id) < (?, ?)"
        bindings += [*lower, *upper]
        # The plus keeps SQLite from the indexes that begin with the space.
        select = _BY_KIND if walk.kinds and not (alone or walk.projects or walk.types) else _BY_TIME
        rows = connection.rows(
            f"{select} WHERE {'+' * alone}i.space_id = ? AND {condition}"
            f" ORDER BY i.created_ms {order}, i.id {order} LIMIT ?",
            [space_id, *bindings, limit],
        )
        found += map(_item, rows)
    return sorted(found, key=_when, reverse=not oldest_first)[:limit]


def messages(connection: SqliteConnection, space_id: int, session_id: int, limit: int, after: int) -> list[Item]:
    """The live messages of a session in the order they were said; `after` is the id to go on from."""
    rows = connection.rows(
        f"{_BY_TIME} WHERE i.space_id = ? AND i.session_id = ? AND i.kind = 'message' AND i.id > ?"
        " AND i.forgotten_ms IS NULL AND i.superseded_by IS NULL ORDER BY i.id LIMIT ?",
        (space_id, session_id, after, limit),
    )
    return [*map(_item, rows)]


def around(
    connection: SqliteConnection, space_id: int, anchor: Item, before: int, after: int, filter_: Filter
) -> list[Item]:
    """The anchor with its neighbours in time, of those that the filter lets through, oldest first."""
    at = (anchor.created_ms, anchor.id)
    earlier = between(connection, space_id, filter_, _ALWAYS, before, at, oldest_first=False)
    later = between(connection, space_id, filter_, _ALWAYS, after, at, oldest_first=True)
    return [*reversed(earlier), anchor, *later]


def resolve(connection: SqliteConnection, space_id: int, ref: Ref) -> int | None:
    """The integer id behind any spelling."""
    for clause, value in (("uid = ?", ref.uid), ("substr(uid, -12) = ?", ref.short), ("id = ?", ref.number)):
        if value is None:
            continue
        rows = connection.rows(f"SELECT id FROM items WHERE space_id = ? AND {clause} LIMIT 2", (space_id, value))
        ids = [int(row[0]) for row in rows]
        if len(ids) == 1:
            return ids[0]
    return None


def history(connection: SqliteConnection, space_id: int, item_id: int) -> list[Change]:
    rows = connection.rows(
        "SELECT rev, op, at_ms, before FROM history WHERE space_id = ? AND item_id = ? ORDER BY rev, id",
        (space_id, item_id),
    )
    return [change_of(*row) for row in rows]


def superseded(connection: SqliteConnection, space_id: int, item_id: int) -> list[int]:
    question = "SELECT id FROM items WHERE space_id = ? AND superseded_by = ? ORDER BY id DESC"
    return [row[0] for row in connection.rows(question, (space_id, item_id))]


def walks(filter_: Filter) -> Iterator[Filter]:
    """The filter in parts that are each one walk along an index in the order of time."""
    places: list[tuple[int, ...]] = [(project,) for project in filter_.projects]
    types: list[tuple[str, ...]] = [(type_,) for type_ in filter_.types]
    kinds: list[tuple[Kind, ...]] = [filter_.kinds]
    if (places or filter_.kinds) and not types:
        # With types the kind is checked on the way; without, it is part of the index.
        kinds = [(kind,) for kind in filter_.kinds or KINDS]
    for place, type_, kind in product(places or [()], types or [()], kinds):
        yield replace(filter_, projects=place, types=type_, kinds=kind)


def _when(item: Item) -> tuple[int, int]:
    return item.created_ms, item.id


def _item(row: tuple[Any, ...]) -> Item:
    """A row of _SELECT."""
    return item_of(row, row[10])
