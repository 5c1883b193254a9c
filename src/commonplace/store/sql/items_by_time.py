"""Items and sessions by time: items along an index in the order of time, sessions by their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from commonplace.model import KINDS, SOURCE_FIELDS, VALIDITY_FIELDS, Item, Kind, Scope, Session
from commonplace.store.damaged_values import kind_of, object_of, texts_of
from commonplace.store.rows import item_of
from commonplace.store.sql import items, sessions
from commonplace.store.sql.connection import IN_LIST, Connection, Space, allow_replica, json_field
from commonplace.store.sql.items import ITEMS, SELECT_ITEMS, read_in_snapshot
from commonplace.store.sql.scope_filter import NO_PROJECT, Filter, filter_of, is_inside, names_of
from commonplace.store.types import ItemHeader
from commonplace.text.dates import DAY_MS

_SHIFT = 1_000_000
# All of time, in milliseconds.
_ALWAYS = (-(2**62), 2**62)
# With a bound on time SQLite takes the index of time alone, and would look at every other kind on the way.
_BY_KIND = SELECT_ITEMS.format(rows="items i INDEXED BY items_kind")
_HEADERS = """
SELECT i.id, i.kind, i.type, i.title, i.details, i.meta, p.name, i.session_id, i.author, i.review, i.created_ms
  FROM items i LEFT JOIN projects p ON p.space_id = i.space_id AND p.id = i.project_id
 WHERE i.space_id = ? AND {condition} AND i.created_ms >= ? AND i.created_ms < ?
 ORDER BY i.created_ms DESC, i.id DESC LIMIT ?
"""
# From one day with items to the next along the index: grouping everything would sort everything. Shifted, because
# integer division rounds towards zero and days before 1970 have to be rounded down.
_DAYS = f"""
WITH RECURSIVE days (day) AS (
    SELECT CAST(? AS bigint)
    UNION ALL
    SELECT (
        SELECT (i.created_ms + {_SHIFT * DAY_MS}) / {DAY_MS} - {_SHIFT} FROM items i
         WHERE i.space_id = ? AND {{condition}} AND i.created_ms >= max(?, (day + 1) * {DAY_MS}) AND i.created_ms < ?
         ORDER BY i.created_ms LIMIT 1
    ) FROM days WHERE day IS NOT NULL
)
SELECT day, items FROM (
    SELECT day, (
        SELECT count(*) FROM items i
         WHERE i.space_id = ? AND {{condition}} AND i.created_ms >= max(?, day * {DAY_MS})
           AND i.created_ms < min(?, (day + 1) * {DAY_MS})
    ) AS items FROM days WHERE day IS NOT NULL
) counted WHERE items > 0
"""


# Lines that keep the other version of a merge are no state that it was in.
_CHANGED_SINCE = """
SELECT item_id, before FROM history WHERE space_id = ? AND at_ms > ? AND op <> 'merge' ORDER BY at_ms, rev, id LIMIT ?
"""


class Periods(Space):
    """What happened when, in one space."""

    @allow_replica
    def newest(self, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            return [] if filter_ is None else newest(connection, self._space_id, filter_, limit, before)

    @allow_replica
    def around(self, anchor: Item, before: int, after: int, scope: Scope) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return [anchor]
            at = (anchor.created_ms, anchor.id)
            earlier = between(connection, self._space_id, filter_, _ALWAYS, before, at, oldest_first=False)
            later = between(connection, self._space_id, filter_, _ALWAYS, after, at, oldest_first=True)
            return [*reversed(earlier), anchor, *later]

    @allow_replica
    def item_headers(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[ItemHeader]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            found: list[Sequence[Any]] = []
            for walk in () if filter_ is None else index_walks(filter_):
                condition, bindings = walk.sql(connection)
                select = _HEADERS.format(condition=condition)
                found += connection.rows(select, [self._space_id, *bindings, from_ms, to_ms, limit])
        # Each walk may return as many as are wanted of all: only those that are left are taken apart.
        return [_header_of(row) for row in sorted(found, key=lambda row: (row[-1], row[0]), reverse=True)[:limit]]

    @allow_replica
    def items_per_day(self, scope: Scope, from_ms: int, to_ms: int) -> dict[int, dict[Kind, int]]:
        days: dict[int, dict[Kind, int]] = {}
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            counts = () if filter_ is None else self._count_by_day(connection, filter_, from_ms, to_ms)
            for day, kind, count in counts:
                of_day = days.setdefault(day, {})
                of_day[kind] = of_day.get(kind, 0) + count
        return days

    def _count_by_day(
        self, connection: Connection, filter_: Filter, from_ms: int, to_ms: int
    ) -> Iterable[tuple[int, Kind, int]]:
        """How many items there are on each day, by kind."""
        for kind in filter_.kinds or KINDS:
            for walk in index_walks(replace(filter_, kinds=(kind,))):
                condition, bindings = walk.sql(connection)
                part = [self._space_id, *bindings, from_ms, to_ms]
                before = from_ms // DAY_MS - 1
                rows = connection.rows(_DAYS.format(condition=condition), [before, *part, *part])
                yield from ((day, kind, count) for day, count in rows)

    @allow_replica
    def items_between(
        self,
        scope: Scope,
        from_ms: int,
        to_ms: int,
        limit: int,
        beyond: tuple[int, int] | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[Item]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return []
            return between(connection, self._space_id, filter_, (from_ms, to_ms), limit, beyond, oldest_first)

    @allow_replica
    def states_at(self, scope: Scope, limit: int) -> dict[int, Item | None]:
        """The items that changed after a scope's moment, as they were then; None for those that were not in it.

        Of more changes than `limit` the first ones after the moment count.
        """
        assert scope.at_ms is not None
        with self._database.read(self._query_timeout) as connection:
            lines: dict[int, Mapping[str, Any]] = {}
            for item_id, before in connection.rows(_CHANGED_SINCE, (self._space_id, scope.at_ms, limit)):
                lines.setdefault(item_id, object_of(before))
            changed = items.get(connection, self._space_id, lines)
            states = {id_: _as_before(item, lines[id_], scope.at_ms) for id_, item in changed.items()}
            past = [item for item in states.values() if item is not None]
            names = names_of(connection, self._space_id, scope, past)
        inside = {item.id for item in past if is_inside(scope, item, names)}
        return {id_: item if id_ in inside else None for id_, item in states.items()}

    @allow_replica
    def sessions_during(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            filter_ = filter_of(connection, self._space_id, scope, self.clock())
            if filter_ is None:
                return []
            condition = "s.space_id = ? AND s.forgotten_ms IS NULL AND s.started_ms < ?"
            condition += " AND coalesce(s.ended_ms, s.started_ms) >= ?"
            bindings: list[object] = [self._space_id, to_ms, from_ms]
            if filter_.projects:
                condition += f" AND coalesce(s.project_id, {NO_PROJECT}) {IN_LIST}"
                bindings.append(connection.array(filter_.projects))
            order = "s.ended_ms DESC, s.id DESC LIMIT ?"
            return sessions.select(connection, condition, [*bindings, limit], order)

    @allow_replica
    def kinds_per_session(self, session_ids: Sequence[int]) -> dict[int, dict[Kind, int]]:
        with self._database.read(self._query_timeout) as connection:
            rows = connection.rows(
                f"SELECT session_id, kind, count(*) FROM items WHERE +space_id = ? AND session_id {IN_LIST}"
                " AND forgotten_ms IS NULL AND superseded_by IS NULL GROUP BY 1, 2",
                (self._space_id, connection.array(session_ids)),
            )
        kinds: dict[int, dict[Kind, int]] = {}
        for session_id, kind, count in rows:
            kinds.setdefault(session_id, {})[kind] = count
        return kinds

    @allow_replica
    def follow_up_sessions(self, session_id: int) -> list[Session]:
        with self._database.read(self._query_timeout) as connection:
            found: dict[int, Session] = {}
            for name in ("continued_from", "parent_session"):
                condition = (
                    f"s.space_id = ? AND s.forgotten_ms IS NULL AND {json_field('s.meta', name)} ="
                    " (SELECT key FROM sessions WHERE space_id = ? AND id = ?)"
                )
                bindings = (self._space_id, self._space_id, session_id)
                found |= {one.id: one for one in sessions.select(connection, condition, bindings)}
        return sorted(found.values(), key=lambda one: (one.started_ms, one.id))


def _header_of(row: Sequence[Any]) -> ItemHeader:
    id_, kind, type_, title, details, meta, *rest = row
    return ItemHeader(id_, kind_of(kind), type_, title, texts_of(details), object_of(meta), *rest)


def _as_before(item: Item, before: Mapping[str, Any], moment_ms: int) -> Item | None:
    """An item as it was before a line of its history; None if it was not live at the moment, or not there yet."""
    hidden = before.get("forgotten_ms") is not None or before.get("superseded_by") is not None
    # It is known by now that another one held already.
    ended = item.superseded_by is not None and item.valid_until_ms is not None and item.valid_until_ms <= moment_ms
    if hidden or ended or item.created_ms > moment_ms:
        return None
    was: dict[str, Any] = {name: before[name] for name in _CHANGING if name in before}
    was |= {name: before.get(name) for name in (*VALIDITY_FIELDS, *SOURCE_FIELDS, "forgotten_ms", "superseded_by")}
    return replace(item, **was, tags=tuple(before.get("tags") or ()))


_CHANGING = ("type", "title", "body", "details", "meta", "project", "importance")


def newest(
    connection: Connection, space_id: int, filter_: Filter, limit: int, before: tuple[int, int] | None
) -> list[Item]:
    """Live items, newest first; `before` is the (created_ms, id) to go on from."""
    found: list[Item] = []
    for walk in index_walks(filter_):
        condition, bindings = walk.sql(connection)
        if before:
            condition += " AND (i.created_ms, i.id) < (?, ?)"
            bindings += before
        rows = connection.rows(
            f"{ITEMS} WHERE i.space_id = ? AND {condition} ORDER BY i.created_ms DESC, i.id DESC LIMIT ?",
            [space_id, *bindings, limit],
        )
        found += map(item_of, rows)
    read_in_snapshot(connection, space_id).update((item.id, item) for item in found)
    return sorted(found, key=_when, reverse=True)[:limit]


def between(
    connection: Connection,
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
    for walk in [filter_] if alone else index_walks(filter_):
        condition, bindings = walk.sql(connection)
        condition += " AND (i.created_ms, i.id) > (?, ?) AND (i.created_ms, i.id) < (?, ?)"
        bindings += [*lower, *upper]
        select = _BY_KIND if walk.kinds and not (alone or walk.projects or walk.types) else ITEMS
        rows = connection.rows(
            f"{select} WHERE {'+' * alone}i.space_id = ? AND {condition}"
            f" ORDER BY i.created_ms {order}, i.id {order} LIMIT ?",
            [space_id, *bindings, limit],
        )
        found += map(item_of, rows)
    return sorted(found, key=_when, reverse=not oldest_first)[:limit]


def index_walks(filter_: Filter) -> Iterator[Filter]:
    """The filter in parts that are each one walk along an index in the order of time."""
    places: list[tuple[int, ...]] = [(project,) for project in filter_.projects]
    types: list[tuple[str, ...]] = [(type_,) for type_ in filter_.types]
    kinds: list[tuple[Kind, ...]] = [filter_.kinds]
    if (places or filter_.kinds) and not types:
        # With types the kind is checked on the way; without, it is part of the index.
        kinds = [(kind,) for kind in filter_.kinds or KINDS]
    for place, type_, kind in product(places or [()], types or [()], kinds):
        narrowed = filter_.global_kinds if place == (NO_PROJECT,) else ()
        if narrowed and kind:
            kind, narrowed = tuple(one for one in kind if one in narrowed), ()
            if not kind:
                continue
        yield replace(filter_, projects=place, types=type_, kinds=kind, global_kinds=narrowed)


def _when(item: Item) -> tuple[int, int]:
    return item.created_ms, item.id
