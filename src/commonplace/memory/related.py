"""Related: what belongs to an item: where it was said, what it replaced, what it opposes, what is linked with it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.contradictions import Contradiction, contradictions
from commonplace.memory.graph import Reached, walk
from commonplace.memory.remember import EARLIEST_MS, LATEST_MS
from commonplace.model import Item, Scope, Session, SessionScope

BESIDE = 3
LINKED = 12
# The first passages of a long item tell what it is about.
STARTS = 20


@dataclass(frozen=True, slots=True)
class Related:
    """The neighbours of an item. `before` and `after` are of its session, in the order in which they came."""

    session: Session | None
    before: tuple[Item, ...]
    after: tuple[Item, ...]
    replaced_by: Item | None
    replaced: tuple[Item, ...]
    opposed: tuple[Contradiction, ...]
    linked: tuple[Reached, ...]


def related(book: Book, item: Item) -> Related:
    """Everything that leads on from an item. What was forgotten belongs to nothing but what replaced it."""
    session = book.store.sessions_of([item.id]).get(item.id)
    above = book.store.get([] if item.superseded_by is None else [item.superseded_by])
    below = book.store.get(book.store.superseded(item.id))
    live = item.forgotten_ms is None and item.superseded_by is None
    before, after = (_beside(book, item, session, later=later) for later in (False, True))
    shown = {one.id for one in (item, *before, *after, *below.values())}
    return Related(
        session,
        before,
        after,
        next(iter(above.values()), None),
        tuple(sorted(below.values(), key=lambda one: -one.id)),
        tuple(contradictions(book, item)) if live else (),
        tuple(_linked(book, item, shown)) if live else (),
    )


def _beside(book: Book, item: Item, session: Session | None, *, later: bool) -> tuple[Item, ...]:
    if session is None:
        return ()
    scope = Scope(sessions=SessionScope(ids=(session.id,), empty=True))
    first, last = (item.created_ms, LATEST_MS) if later else (EARLIEST_MS, item.created_ms + 1)
    here = (item.created_ms, item.id)
    found = book.store.items_between(scope, first, last, BESIDE, here, oldest_first=later)
    return tuple(found if later else reversed(found))


def _linked(book: Book, item: Item, shown: Collection[int]) -> Sequence[Reached]:
    """The nearest passages of items that are not shown otherwise, one of each."""
    passages = book.store.passages_of([item.id]).get(item.id, [])[:STARTS]
    reached = walk(book, dict.fromkeys(passages, 1.0), depth=1, most=2 * LINKED)
    found: dict[int, Reached] = {}
    for one in reached:
        if one.item.id not in shown:
            found.setdefault(one.item.id, one)
    return list(found.values())[:LINKED]
