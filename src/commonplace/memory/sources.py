"""Sources: how far the files that the memory was filled from have been read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.memory.book import Book


def mark_of(book: Book, path: str) -> Mapping[str, Any] | None:
    """What was noted of a file when it was last read; None if it never was."""
    return book.store.source_mark(path)


def note_mark(book: Book, path: str, mark: Mapping[str, Any]) -> None:
    book.store.note_source(path, mark, book.clock())
