"""Who calls: the key of each request, or the visit of a person to our pages, and the book of the space it belongs to.

A key is looked up at most every few seconds, so a revoked one stops working within that time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreError, Unauthorized
from commonplace.memory import keys, spaces, visits
from commonplace.memory.book import Book, limited
from commonplace.model import Key
from commonplace.rest.refusal import refusal
from commonplace.site.addresses import Proxies
from commonplace.site.limits import Buckets, too_often
from commonplace.site.probes import unexplained
from commonplace.workers import Workers

# What anybody may read: these, and what is below the trees.
PUBLIC = ("/", "/health", "/api/v1/openapi.json")
PUBLIC_TREES = ("/api/v1/docs",)

# A revoked key works at most this much longer.
FRESH_SECONDS = 3.0
MOST_CALLERS = 1_000
# Wrong keys from one address.
WRONG_PER_SECOND, WRONG_BURST = 1.0, 20
SERVICE_UNAVAILABLE = 503
# What a browser shows on our pages instead of a key.
VISIT_COOKIE = "commonplace_visit"


@dataclass(frozen=True, slots=True)
class Caller:
    """A key that was found good, and until when that is believed."""

    key: Key
    book: Book
    until: float


class Who:
    """Puts `key`, `book` and `address` into the state of each request, or refuses it.

    `is_page` tells which paths are for people, also by what the caller can read: there a visit counts, and whoever has
    none is let through, to sign in.
    """

    def __init__(
        self,
        app: ASGIApp,
        reach: Callable[[], Book],
        workers: Workers,
        settings: Settings,
        is_page: Callable[[str, str], bool] = lambda _path, _accept: False,
    ) -> None:
        self._app, self._reach, self._workers, self._is_page = app, reach, workers, is_page
        self._proxies = Proxies(settings.trusted_proxies)
        self._callers: dict[bytes, Caller] = {}
        self._wrong = Buckets(WRONG_PER_SECOND, WRONG_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            state = scope.setdefault("state", {})
            state["address"] = self._proxies.caller(scope, headers)
            page = self._is_page(scope["path"], headers.get("accept", ""))
            try:
                shown = _secret(headers) or (_visit(headers) if page else "")
                caller = await self.caller(shown, state["address"])
                state["key"], state["book"] = caller.key, caller.book
            except CommonplaceError as error:
                state["refused"] = error
                if not page and not is_public(scope["path"]):
                    # Without its store the server knows nobody; that is no fault of the caller.
                    status = SERVICE_UNAVAILABLE if isinstance(error, StoreError) else None
                    await refusal(error, status)(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def caller(self, secret: str, address: str) -> Caller:
        """Whoever shows this. Wrong keys from an address are counted, and after some of them it waits."""
        if not secret:
            raise Unauthorized("A key is needed here.")
        digest = hashlib.sha256(secret.encode()).digest()
        known = self._callers.get(digest)
        if known is not None and time.monotonic() < known.until and known.key.works(known.book.clock()):
            return known
        # Whoever had a good key before is not made to wait for what others guess behind the same address.
        if known is None and (waiting := self._wrong.wait(address)):
            raise too_often(waiting)
        try:
            caller = await self._workers.do(lambda: self._checked(secret))
        except Unauthorized:
            self._callers.pop(digest, None)
            self._wrong.take(address)
            raise
        except StoreError as error:
            # Nobody knows whether this key is one; only who had a good one before is told more.
            if known is not None:
                raise
            raise unexplained(error) from error
        if len(self._callers) >= MOST_CALLERS:
            self._callers.clear()
        self._callers[digest] = caller
        return caller

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


def is_public(path: str) -> bool:
    return path in PUBLIC or any(path == tree or path.startswith(tree + "/") for tree in PUBLIC_TREES)


def _note_use(book: Book, key: Key) -> None:
    # A store that is busy or only readable answers questions all the same.
    with contextlib.suppress(CommonplaceError):
        keys.note_use(book, key)


def _secret(headers: Headers) -> str:
    scheme, _, secret = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip()
    return headers.get("x-api-key", "").strip()


def _visit(headers: Headers) -> str:
    """The token in the cookie that our pages gave."""
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == VISIT_COOKIE:
            return value
    return ""
