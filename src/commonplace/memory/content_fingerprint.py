"""A fingerprint of what a store holds, read quickly enough for a hook: it changes whenever the content does."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.memory.local_memory import LocalMemory


def content_fingerprint(database: str) -> str | None:
    """A fingerprint of what the store at a path holds; None if it cannot be read at this moment."""
    from commonplace.store.sqlite.content_fingerprint import content_fingerprint

    return content_fingerprint(database)


def fingerprint_reader(memory: LocalMemory) -> Callable[[], str] | None:
    """How to read the fingerprint of a store that is not a file here; None for one that is."""
    if not memory.settings.database_url:
        return None
    # With the hour: what holds changes with time alone.
    return lambda: f"{memory.store.events(None, 0)[1]} {memory.clock() // 3_600_000}"
