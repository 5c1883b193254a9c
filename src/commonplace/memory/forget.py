"""Forget and restore: soft, recorded, and undone as easily."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.model import Item


def forget(book: Book, ids: Sequence[int | str]) -> list[Item]:
    """Take items out of every answer. All of them exist, or nothing happens."""
    items = [fetch_one(book, id_, forgotten=True) for id_ in ids]
    book.store.forget([item.id for item in items], book.clock())
    return items


def restore(book: Book, ids: Sequence[int | str]) -> list[Item]:
    """Bring forgotten or superseded items back."""
    items = [fetch_one(book, id_, forgotten=True) for id_ in ids]
    book.store.restore([item.id for item in items], book.clock())
    book.meaning.wake()
    return items
