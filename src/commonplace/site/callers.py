"""Callers: whoever shows a key, or the token of a visit, and the book of the space it belongs to.

A key is looked up at most every few seconds, so a revoked one stops working within that time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.errors import CommonplaceError, StoreError, Unauthorized
from commonplace.memory import keys, spaces, visits
from commonplace.memory.book import Book, limited
from commonplace.model import Key
from commonplace.site.limits import Buckets, too_often
from commonplace.site.probes import unexplained
from commonplace.workers import Workers

# A revoked key, or a visit that was ended at another server, works at most this much longer.
FRESH_SECONDS = 3.0
MOST_CALLERS = 1_000
# Wrong keys from one address.
WRONG_PER_SECOND, WRONG_BURST = 1.0, 20


@dataclass(frozen=True, slots=True)
class Caller:
    """A key that was found good, and until when that is believed."""

    key: Key
    book: Book
    until: float


class Callers:
    """Whom the site knows."""

    def __init__(self, reach: Callable[[], Book], workers: Workers) -> None:
        self._reach, self._workers = reach, workers
        self._known: dict[bytes, Caller] = {}
        self._wrong = Buckets(WRONG_PER_SECOND, WRONG_BURST)

    async def caller(self, secret: str, address: str) -> Caller:
        """Whoever shows this. Wrong keys from an address are counted, and after some of them it waits."""
        if not secret:
            raise Unauthorized("A key is needed here.")
        digest = hashlib.sha256(secret.encode()).digest()
        known = self._known.get(digest)
        if known is not None and time.monotonic() < known.until and known.key.works(known.book.clock()):
            return known
        # Whoever had a good key before is not made to wait for what others guess behind the same address.
        if known is None and (waiting := self._wrong.wait(address)):
            raise too_often(waiting)
        try:
            caller = await self._workers.do(lambda: self._checked(secret))
        except Unauthorized:
            self._known.pop(digest, None)
            self._wrong.take(address)
            raise
        except StoreError as error:
            # Nobody knows whether this key is one; only who had a good one before is told more.
            if known is not None:
                raise
            raise unexplained(error) from error
        if len(self._known) >= MOST_CALLERS:
            self._known.clear()
        self._known[digest] = caller
        return caller

    async def leave(self, token: str) -> None:
        """End a visit, also for whoever else has its token."""
        await self._workers.do(lambda: self._end(token))
        self._known.pop(hashlib.sha256(token.encode()).digest(), None)

    def _checked(self, secret: str) -> Caller:
        check, refused = visits.check if visits.is_token(secret) else keys.check, Unauthorized("A key is needed here.")
        # Nearly always one: the spaces whose keys begin like this.
        for book in spaces.books_of(self._reach(), secret):
            try:
                key = check(book, secret)
            except Unauthorized as error:
                refused = error
                continue
            self._workers.later(functools.partial(_note_use, book, key))
            theirs = book if key.project is None else limited(book, key.project)
            return Caller(key, theirs, time.monotonic() + FRESH_SECONDS)
        raise refused

    def _end(self, token: str) -> None:
        for book in spaces.books_of(self._reach(), token):
            with contextlib.suppress(Unauthorized):
                visits.end(book, token)


def _note_use(book: Book, key: Key) -> None:
    # A store that is busy or only readable answers questions all the same.
    with contextlib.suppress(CommonplaceError):
        keys.note_use(book, key)
