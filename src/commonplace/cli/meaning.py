"""Meaning for a command that runs once: what waits for its vector gets it, and who asked learns if words had to do."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from commonplace.cli.call import Call
from commonplace.dialects.tool import incomplete
from commonplace.errors import StoreError
from commonplace.memory.book import Book
from commonplace.memory.meaning import AT_ONCE
from commonplace.memory.recall import understood, with_vectors
from commonplace.model import Scope

# What a command embeds before it answers, the newest first, in small steps; the rest waits for the next, or a server.
SECONDS, STEP = 0.5, 4
# The same for a command that was asked something: first what holds the words of the question.
ASKED_SECONDS, ASKED_PASSAGES = 2.0, 1_000
# The same for what is made of vectors alone.
MANY_SECONDS = 10.0


def embed_what_waits(book: Book, seconds: float = SECONDS) -> None:
    """Let meaning work right after `add`, without any server. A store that cannot be written now still answers."""
    with contextlib.suppress(StoreError):
        book.meaning.catch_up(batch=STEP, seconds=seconds, patience=AT_ONCE)


def embed_for_question(book: Book, question: str, scopes: Sequence[Scope]) -> None:
    """Let meaning work right after `add`, however much was added: what may answer a question comes first."""
    with_vectors(book, understood(book, question), scopes, ASKED_PASSAGES, ASKED_SECONDS)


def warn_incomplete(call: Call, waiting: int) -> None:
    """Say so where some passages were compared by their words alone."""
    if waiting:
        call.note(incomplete(waiting).replace("Ask again in a moment", "Search again, or run a server"))


def warn(call: Call, state: str) -> None:
    """Say so where only words were compared."""
    if state == "off" or state.startswith("failed"):
        why = "meaning is off" if state == "off" else state.removeprefix("failed: ").rstrip(".")
        call.note(f"Found by keywords only: {why}.")
