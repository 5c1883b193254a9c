"""Timeline: what happened around an item, in a period, and since an event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.memory.items import get_item, make_cursor, parse_cursor
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Kind, Scope, Session
from commonplace.store.types import EVENT_MARK, Event

# Summaries and checkpoints speak about a time; these happened in it.
EVENT_KINDS: tuple[Kind, ...] = ("observation", "memory", "message")


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An item and where it stands: negative before the anchor, 0 the anchor, positive after."""

    item: Item
    position: int


@dataclass(frozen=True, slots=True)
class PeriodPage:
    """Some of what happened, the newest first, in which sessions, and where what is newer and older begins."""

    items: tuple[Item, ...]
    sessions: Mapping[int, Session]
    newer: str | None
    older: str | None


def timeline(
    memory: LocalMemory, anchor_id: int | str, before: int = 5, after: int = 5, *, own_project: bool = False
) -> list[TimelineEntry]:
    """The anchor and its neighbours in time, oldest first: of all projects, or only of the anchor's own."""
    anchor = get_item(memory, anchor_id)
    scope = Scope.inside(anchor.project, kinds=EVENT_KINDS) if own_project else Scope(kinds=EVENT_KINDS)
    items = memory.store.around(anchor, before, after, scope)
    at = next(n for n, item in enumerate(items) if item.id == anchor.id)
    return [TimelineEntry(item, n - at) for n, item in enumerate(items)]


def items_in_period(
    memory: LocalMemory,
    scope: Scope,
    from_ms: int,
    to_ms: int,
    limit: int,
    *,
    older_than: str = "",
    newer_than: str = "",
) -> PeriodPage:
    """A page of what happened from a moment up to another; without a cursor the newest."""
    beyond = parse_cursor(newer_than or older_than) if newer_than or older_than else None
    up = bool(newer_than)
    found = memory.store.items_between(scope, from_ms, to_ms, limit, beyond, oldest_first=up)
    items = found[::-1] if up else found
    if not items:
        return PeriodPage((), {}, None, None)
    first, last = ((one.created_ms, one.id) for one in (items[0], items[-1]))
    return PeriodPage(
        tuple(items),
        sessions_by_item(memory, items),
        make_cursor(*first) if memory.store.items_between(scope, from_ms, to_ms, 1, first, oldest_first=True) else None,
        make_cursor(*last) if memory.store.items_between(scope, from_ms, to_ms, 1, last) else None,
    )


def sessions_by_item(memory: LocalMemory, items: Sequence[Item]) -> Mapping[int, Session]:
    """The session of each item that is part of one, by the item's id."""
    return memory.store.sessions_of([item.id for item in items])


__all__ = ["EVENT_MARK", "Event", "events_since"]

MAX_EVENTS = 200


def events_since(memory: LocalMemory, after: str | None) -> tuple[Sequence[Event], str]:
    """Events after a mark, some at a time, and the mark to go on from; without one, where the news are now."""
    return memory.store.events(after, MAX_EVENTS)
