"""Callers: whoever shows a key, or the token of a visit, and the book of the space it belongs to.

A key is looked up at most every few seconds, so a revoked one stops working within that time. Programs show keys and
browsers show tokens: neither is taken for the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal

from commonplace.errors import CommonplaceError, KeyMissing, StoreError, Unauthorized
from commonplace.memory import keys, spaces, visits
from commonplace.memory.book import Book, limited
from commonplace.model import Key
from commonplace.site.limits import Buckets, too_often
from commonplace.site.probes import unexplained
from commonplace.workers import Workers

# A revoked key, or a visit that was ended at another server, works at most this much longer.
FRESH_SECONDS = 3.0
MOST_CALLERS = 1_000
# Wrong keys from one address. Beyond that each is answered after a pause, as long as not too many answers wait.
WRONG_PER_SECOND, WRONG_BURST = 1.0, 20
WRONG_PAUSE_SECONDS, MOST_PAUSED = 1.0, 32

Kind = Literal["key", "visit"]


@dataclass(frozen=True, slots=True)
class Caller:
    """A key that was found good, and until when that is believed.

    `recheck` looks it up again, in a thread that may wait for the store: Unauthorized if it works no more.
    """

    key: Key
    book: Book
    until: float
    recheck: Callable[[], None]


class Callers:
    """Whom the site knows.

    `lookups` are threads that only look keys up: what floods them delays no other work. `notes` write down when keys
    were used, which may have to wait for whoever writes.
    """

    def __init__(self, reach: Callable[[], Book], lookups: Workers, notes: Workers) -> None:
        self._reach, self._lookups, self._notes = reach, lookups, notes
        self._known: dict[tuple[Kind, bytes], Caller] = {}
        self._wrong = Buckets(WRONG_PER_SECOND, WRONG_BURST)
        self._paused = 0

    async def caller(self, secret: str, address: str, kind: Kind = "key") -> Caller:
        """Whoever shows this. A good key is always let in; an address that sent many wrong ones waits for its answers.

        A key is 192 random bits: nobody finds one by trying. What is limited is the work that trying makes.
        """
        if not secret:
            raise KeyMissing("A key is needed here.")
        named = kind, hashlib.sha256(secret.encode()).digest()
        known = self._known.get(named)
        if known is not None and time.monotonic() < known.until and known.key.works(known.book.clock()):
            return known
        try:
            caller = await self._found(secret, kind, address if known is None else known.key.id)
        except Unauthorized:
            self._known.pop(named, None)
            # A browser keeps sending the token of a visit that is over, with every picture of a page.
            if kind == "key":
                await self._slow_down(address)
            raise
        except StoreError as error:
            # Nobody knows whether this key is one; only who had a good one before is told more.
            if known is not None:
                raise
            raise unexplained(error) from error
        if len(self._known) >= MOST_CALLERS:
            self._known.clear()
        self._known[named] = caller
        return caller

    async def leave(self, token: str) -> None:
        """End a visit, also for whoever else has its token."""
        await self._lookups.do(lambda: self._end(token))
        self._known.pop(("visit", hashlib.sha256(token.encode()).digest()), None)

    async def _found(self, secret: str, kind: Kind, line: Hashable) -> Caller:
        if kind == "key" and not keys.looks_like_one(secret):
            raise Unauthorized(keys.UNKNOWN)
        return await self._lookups.do(lambda: self._checked(secret, kind), line)

    async def _slow_down(self, address: str) -> None:
        """Count a wrong key; RateLimited, after a pause, if there were too many."""
        if not (waiting := self._wrong.take(address)):
            return
        if self._paused < MOST_PAUSED:
            self._paused += 1
            try:
                await asyncio.sleep(WRONG_PAUSE_SECONDS)
            finally:
                self._paused -= 1
        raise too_often(waiting)

    def _checked(self, secret: str, kind: Kind) -> Caller:
        key, book = self._valid(secret, kind)
        self._notes.later(functools.partial(_note_use, book, key))
        theirs = book if key.project is None else limited(book, key.project)
        return Caller(key, theirs, time.monotonic() + FRESH_SECONDS, lambda: self._recheck(secret, kind))

    def _valid(self, secret: str, kind: Kind) -> tuple[Key, Book]:
        """The key that works now, and the book of its space."""
        check, refused = keys.check if kind == "key" else visits.check, Unauthorized(keys.UNKNOWN)
        # Nearly always one: the spaces whose keys begin like this.
        for book in spaces.books_of(self._reach(), secret):
            try:
                return check(book, secret), book
            except Unauthorized as error:
                refused = error
        raise refused

    def _recheck(self, secret: str, kind: Kind) -> None:
        self._valid(secret, kind)

    def _end(self, token: str) -> None:
        for book in spaces.books_of(self._reach(), token):
            with contextlib.suppress(Unauthorized):
                visits.end(book, token)


def _note_use(book: Book, key: Key) -> None:
    # A store that is busy or only readable answers questions all the same.
    with contextlib.suppress(CommonplaceError):
        keys.note_use(book, key)
