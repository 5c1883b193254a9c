"""Unchanged: whether what is remembered is still what it was, told so quickly that a hook may ask."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.memory.local_memory import LocalMemory


def content_mark(database: str) -> str | None:
    """A word for what the store at a path holds, which changes with it; None if it cannot be told at this moment."""
    from commonplace.store.sqlite.content_mark import content_mark

    return content_mark(database)


def mark_reader(memory: LocalMemory) -> Callable[[], str] | None:
    """How to ask a store that is no file here for such a word; None for one that is."""
    return (lambda: memory.store.events(None, 0)[1]) if memory.settings.database_url else None
