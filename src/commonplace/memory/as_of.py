"""What was held true at a moment: items as they were then.

The tables have items as they are now. Those that were edited, superseded or forgotten after the moment are read from
their history; all others are found as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from commonplace.memory.local_memory import LocalMemory
from commonplace.model import PROPOSED, VIA, Item, Scope

# So many changes after a moment are looked at.
MOST_CHANGES = 20_000


def newest_as_of(memory: LocalMemory, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]:
    """What was held true at the moment of a scope, newest first; `before` is the (created_ms, id) to go on from."""
    assert scope.at_ms is not None
    states = memory.store.states_at(scope.at_ms, MOST_CHANGES)
    found = [
        item for item in past_items(memory, scope, states) if before is None or (item.created_ms, item.id) < before
    ]
    current = written_by_then(scope)
    # Those that changed since are left out of the pages that are read, so that enough others are there.
    while True:
        page = memory.store.newest(current, limit, before)
        found += [item for item in page if item.id not in states]
        if len(page) < limit or len(found) >= limit:
            break
        before = (page[-1].created_ms, page[-1].id)
    return sorted(found, key=lambda item: (item.created_ms, item.id), reverse=True)[:limit]


def matching_as_of(
    memory: LocalMemory, scope: Scope, current: Iterable[Item], matches: Callable[[Item], bool]
) -> list[Item]:
    """Items that match, as they were at the moment of a scope; `current` are those of `written_by_then` that do now."""
    assert scope.at_ms is not None
    states = memory.store.states_at(scope.at_ms, MOST_CHANGES)
    unchanged = [item for item in current if item.id not in states]
    return [*unchanged, *(item for item in past_items(memory, scope, states) if matches(item))]


def written_by_then(scope: Scope) -> Scope:
    """The scope without what was written after its moment."""
    assert scope.at_ms is not None
    ends = [scope.at_ms + 1, *(() if scope.until_ms is None else (scope.until_ms,))]
    return replace(scope, until_ms=min(ends))


def past_items(memory: LocalMemory, scope: Scope, states: Mapping[int, Item | None]) -> list[Item]:
    """Those that changed since and are inside the scope, as they were."""
    at_ms = scope.at_ms or 0
    project = None if scope.project is None else memory.store.find_project(scope.project)
    tags = [part.strip().lower() for part in scope.tag.split(",") if part.strip()]

    def inside(item: Item) -> bool:
        return (
            scope.has_place_of(item, project)
            and (scope.lapsed or item.holds_at(at_ms))
            and (not scope.kinds or item.kind in scope.kinds)
            and (not scope.types or item.type in scope.types)
            and (not tags or any(tag in own.lower() for tag in tags for own in item.tags))
            and (not scope.origins or item.origin in scope.origins)
            and (not scope.review or (item.review == PROPOSED) == (scope.review == PROPOSED))
            and (not scope.author or f"{VIA}{scope.author}{VIA}".lower() in f"{VIA}{item.author}{VIA}".lower())
            and scope.sessions is None
            and (scope.since_ms is None or item.created_ms >= scope.since_ms)
            and (scope.until_ms is None or item.created_ms < scope.until_ms)
        )

    return [item for item in states.values() if item is not None and inside(item)]
