"""Sources: how far the files that the memory was filled from have been read, and how their sessions hang together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from commonplace.memory.book import Book


def mark_of(book: Book, path: str) -> Mapping[str, Any] | None:
    """What was noted of a file when it was last read; None if it never was."""
    return book.store.source_mark(path)


def note_mark(book: Book, path: str, mark: Mapping[str, Any]) -> None:
    book.store.note_source(path, mark, book.clock())


def turns_of(book: Book, key: str) -> list[tuple[str, str | None]]:
    """The turns of the session of this key, each with the one it follows."""
    return book.store.turns_of(key)


def leave_behind(book: Book, key: str, turns: Collection[str]) -> None:
    """Mark what a conversation left behind when someone went back and asked otherwise: kept, and told apart."""
    book.store.leave_behind(key, turns)


def tie_sub_agents(book: Book, key: str) -> int:
    """Let the sub-agents of a session know which of its messages started them."""
    return book.store.tie_sub_agents(key)
