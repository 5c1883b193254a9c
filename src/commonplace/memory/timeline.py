"""Timeline: what happened around something, in its own project."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.model import Item, Kind

# Summaries and checkpoints speak about a time; these happened in it.
EVENTS: tuple[Kind, ...] = ("observation", "memory", "message")


@dataclass(frozen=True, slots=True)
class Moment:
    """An item and where it stands: negative before the anchor, 0 the anchor, positive after."""

    item: Item
    position: int


def timeline(book: Book, anchor_id: int | str, before: int = 5, after: int = 5) -> list[Moment]:
    """The anchor and its neighbours in time, oldest first."""
    anchor = fetch_one(book, anchor_id)
    items = book.store.around(anchor, before, after, EVENTS)
    at = next(n for n, item in enumerate(items) if item.id == anchor.id)
    return [Moment(item, n - at) for n, item in enumerate(items)]
