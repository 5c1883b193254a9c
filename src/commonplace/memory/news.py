"""News: what happened since somebody last looked, whoever did it."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.memory.book import Book
from commonplace.store.news import MARK, Event

__all__ = ["MARK", "Event", "news"]

AT_ONCE = 200


def news(book: Book, after: str | None) -> tuple[Sequence[Event], str]:
    """Events after a mark, some at a time, and the mark to go on from; without one, where the news are now."""
    return book.store.news(after, AT_ONCE)
