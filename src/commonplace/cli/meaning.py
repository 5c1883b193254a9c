"""Meaning for a command that runs once: what waits for its vector gets it, and who asked learns if words had to do."""

from __future__ import annotations

import contextlib

from commonplace.cli.call import Call
from commonplace.errors import StoreError
from commonplace.memory.book import Book

# What a command embeds at most before it answers: about a second of work.
CATCH_UP = 64


def embed_what_waits(book: Book) -> None:
    """Let meaning work right after `add`, without any server. A store that cannot be written still answers."""
    with contextlib.suppress(StoreError):
        book.meaning.catch_up(limit=CATCH_UP)


def warn(call: Call, state: str) -> None:
    """Say so where only words were compared."""
    if state == "off" or state.startswith("failed"):
        why = "meaning is off" if state == "off" else state.removeprefix("failed: ").rstrip(".")
        call.note(f"Found by keywords only: {why}.")
