"""Supersede: say that one item replaces another. The old one leaves context and search, and stays in history."""

from __future__ import annotations

from commonplace.errors import Conflict
from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.model import Item
from commonplace.text.names import base_name


def supersede(book: Book, old: int | str, by: int | str) -> tuple[Item, Item]:
    """Mark `old` as replaced by `by`. Restoring the old one undoes it."""
    replacing = fetch_one(book, by)
    replaced = replaceable(book, old, replacing)
    book.store.supersede(replaced.id, replacing.id, book.clock())
    return replaced, replacing


def replaceable(book: Book, old: int | str, new: Item) -> Item:
    """The item to be replaced, if the new one holds wherever the old one did; else Conflict."""
    replaced = fetch_one(book, old)
    if new.project is not None and new.project != replaced.project:
        place = "everywhere" if replaced.project is None else f"in {base_name(replaced.project)}"
        raise Conflict(
            f"Item {replaced.id} holds {place}, but {new.id} only in {base_name(new.project)}.",
            f"Forget {replaced.id} if it no longer holds, or say {new.id} anew where {replaced.id} holds.",
        )
    return replaced
