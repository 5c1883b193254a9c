"""Rebuild: have every vector made again, by the background and from the newest on. Nothing is lost meanwhile."""

from __future__ import annotations

from commonplace.memory.book import Book


def rebuild(book: Book) -> int:
    """Queue everything that is searched; returns how many passages wait."""
    waiting = book.store.embed_again()
    book.meaning.wake()
    return waiting
