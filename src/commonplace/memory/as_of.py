"""What was held true at a moment: items as they were then.

The tables have items as they are now. Those that were edited, superseded or forgotten after the moment are read from
their history; all others are found as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope

# So many changes after a moment are looked at.
MOST_CHANGES = 20_000


def newest_as_of(memory: LocalMemory, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]:
    """What was held true at the moment of a scope, newest first; `before` is the (created_ms, id) to go on from."""
    states = memory.store.states_at(scope, MOST_CHANGES)
    past = [item for item in states.values() if item is not None]
    found = [item for item in past if before is None or (item.created_ms, item.id) < before]
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
    states = memory.store.states_at(scope, MOST_CHANGES)
    unchanged = [item for item in current if item.id not in states]
    past = [item for item in states.values() if item is not None and matches(item)]
    return unchanged + past


def written_by_then(scope: Scope) -> Scope:
    """The scope without what was written after its moment."""
    assert scope.at_ms is not None
    end_ms = scope.at_ms + 1
    return replace(scope, until_ms=end_ms if scope.until_ms is None else min(end_ms, scope.until_ms))
