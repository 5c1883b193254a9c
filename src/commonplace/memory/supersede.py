"""Supersede: say that one item replaces another. The old one leaves context and search, and stays in history."""

from __future__ import annotations

from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.model import Item


def supersede(book: Book, old: int | str, by: int | str) -> tuple[Item, Item]:
    """Mark `old` as replaced by `by`. Restoring the old one undoes it."""
    replaced, replacing = fetch_one(book, old), fetch_one(book, by)
    book.store.supersede(replaced.id, replacing.id, book.clock())
    return replaced, replacing
