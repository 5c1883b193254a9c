"""Sittings: the sessions that go on now, or did until a moment ago."""

from __future__ import annotations

from commonplace.memory.book import Book
from commonplace.model import Scope, Session

# Whoever said nothing for longer has left.
LATELY_MS = 60 * 60_000


def going_on(book: Book, scope: Scope, limit: int) -> list[Session]:
    """Sessions with something new in the last hour, the latest first."""
    now = book.clock()
    return book.store.sessions_during(scope, now - LATELY_MS, now + LATELY_MS, limit)
