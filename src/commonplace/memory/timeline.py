"""Timeline: what happened around something; and what happened in a stretch of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.browse import cursor_at, position_of
from commonplace.memory.fetch import fetch_one
from commonplace.model import Item, Kind, Scope, Session

# Summaries and checkpoints speak about a time; these happened in it.
EVENTS: tuple[Kind, ...] = ("observation", "memory", "message")


@dataclass(frozen=True, slots=True)
class Moment:
    """An item and where it stands: negative before the anchor, 0 the anchor, positive after."""

    item: Item
    position: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of what happened, the newest first, in which sessions, and where what is newer and older begins."""

    items: tuple[Item, ...]
    sessions: Mapping[int, Session]
    newer: str | None
    older: str | None


def timeline(
    book: Book, anchor_id: int | str, before: int = 5, after: int = 5, *, own_project: bool = False
) -> list[Moment]:
    """The anchor and its neighbours in time, oldest first: of all projects, or only of the anchor's own."""
    anchor = fetch_one(book, anchor_id)
    scope = Scope.inside(anchor.project, kinds=EVENTS) if own_project else Scope(kinds=EVENTS)
    items = book.store.around(anchor, before, after, scope)
    at = next(n for n, item in enumerate(items) if item.id == anchor.id)
    return [Moment(item, n - at) for n, item in enumerate(items)]


def stretch(
    book: Book, scope: Scope, from_ms: int, to_ms: int, limit: int, *, older_than: str = "", newer_than: str = ""
) -> Stretch:
    """A page of what happened from a moment up to another; without a cursor the newest."""
    beyond = position_of(newer_than or older_than) if newer_than or older_than else None
    up = bool(newer_than)
    found = book.store.items_between(scope, from_ms, to_ms, limit, beyond, oldest_first=up)
    items = found[::-1] if up else found
    if not items:
        return Stretch((), {}, None, None)
    first, last = ((one.created_ms, one.id) for one in (items[0], items[-1]))
    return Stretch(
        tuple(items),
        sessions_of(book, items),
        cursor_at(*first) if book.store.items_between(scope, from_ms, to_ms, 1, first, oldest_first=True) else None,
        cursor_at(*last) if book.store.items_between(scope, from_ms, to_ms, 1, last) else None,
    )


def sessions_of(book: Book, items: Sequence[Item]) -> Mapping[int, Session]:
    """The session of each item that is part of one, by the item's id."""
    return book.store.sessions_of([item.id for item in items])
