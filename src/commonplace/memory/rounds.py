"""Rounds: a server does what waits in the other spaces of its store too, also in those that nobody has opened."""

from __future__ import annotations

from collections import deque

from commonplace.memory.background import Background
from commonplace.memory.book import Book, beside
from commonplace.memory.meaning import BACKGROUND_BATCH


class Rounds:
    """A task of a server (background.Task): one small step in one space, then the next one has its turn.

    On its first round it looks into every space: some may have vectors of another model, or links that nobody made.
    Later the store tells where something waits. Any number of servers may do this at once: they share the work by
    the leases on it.
    """

    def __init__(self) -> None:
        self._turns: deque[str] = deque()
        self._last = ""
        self._seen_all = self._any = False

    def __call__(self, home: Book) -> bool:
        if not self._turns:
            waiting = sorted(name for name in self._waiting(home) if name != home.settings.space)
            # After the one that had the last turn: a round that was broken off goes on.
            self._turns.extend(sorted(waiting, key=lambda name: name <= self._last))
            self._any = False
        if not self._turns:
            return False
        self._last = self._turns.popleft()
        self._any = self._step(home, self._last) or self._any
        # After a round in which nothing could be done, others come first for a while.
        return bool(self._turns) or self._any

    def _waiting(self, home: Book) -> list[str]:
        if not self._seen_all:
            self._seen_all = True
            return [entry.name for entry in home.store.spaces(home.clock())]
        return list(home.store.waiting_spaces(home.clock(), vectors=home.meaning.model is not None))

    def _step(self, home: Book, space: str) -> bool:
        book = beside(home, space)
        done = book.meaning.catch_up(limit=BACKGROUND_BATCH, batch=BACKGROUND_BATCH)
        more = Background(book).step()
        if book.meaning.state.startswith("failed"):
            # What cannot be done for one can most often be done for none: not all of them have to try.
            self._turns.clear()
        return done > 0 or more
