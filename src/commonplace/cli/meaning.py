"""Meaning for a command that runs once: what waits for its vector gets it, and who asked learns if words had to do."""

from __future__ import annotations

import contextlib

from commonplace.cli.call import Call
from commonplace.errors import StoreError
from commonplace.memory.book import Book
from commonplace.memory.meaning import AT_ONCE

# What a command embeds before it answers, the newest first, in small steps; the rest waits for the next, or a server.
SECONDS, STEP = 0.5, 4
# The same for what is made of vectors alone.
MANY_SECONDS = 10.0


def embed_what_waits(book: Book, seconds: float = SECONDS) -> None:
    """Let meaning work right after `add`, without any server. A store that cannot be written now still answers."""
    with contextlib.suppress(StoreError):
        book.meaning.catch_up(batch=STEP, seconds=seconds, patience=AT_ONCE)


def warn(call: Call, state: str) -> None:
    """Say so where only words were compared."""
    if state == "off" or state.startswith("failed"):
        why = "meaning is off" if state == "off" else state.removeprefix("failed: ").rstrip(".")
        call.note(f"Found by keywords only: {why}.")
