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

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, KeyMissing, StoreError, Unauthorized
from commonplace.http.errors import error_response
from commonplace.memory import keys, spaces
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.model import Key
from commonplace.site.health_probes import without_details
from commonplace.site.rate_limits import TokenBuckets, rate_limited
from commonplace.site.request_origin import TrustedProxies
from commonplace.web.forms import login_token
from commonplace.workers import Workers

# A revoked key, or a visit that was ended at another server, works at most this much longer.
FRESH_SECONDS = 3.0
MOST_CALLERS = 1_000
# Wrong keys from one address. Beyond that each is answered after a pause, as long as not too many answers wait.
WRONG_PER_SECOND, WRONG_BURST = 1.0, 20
WRONG_PAUSE_SECONDS, MOST_PAUSED = 1.0, 32

SecretKind = Literal["key", "login"]


@dataclass(frozen=True, slots=True)
class AuthenticatedCaller:
    """A key that was found good, and until when that is believed.

    `recheck` looks it up again, in a thread that may wait for the store: Unauthorized if it works no more.
    """

    key: Key
    memory: LocalMemory
    until: float
    recheck: Callable[[], None]


class KeyCache:
    """Whom the site knows.

    `lookups` are threads that only look keys up: what floods them delays no other work. `notes` write down when keys
    were used, which may have to wait for whoever writes.
    """

    def __init__(self, reach: Callable[[], LocalMemory], lookups: Workers, notes: Workers) -> None:
        self._reach, self._lookups, self._notes = reach, lookups, notes
        self._known: dict[tuple[SecretKind, bytes], AuthenticatedCaller] = {}
        self._wrong = TokenBuckets(WRONG_PER_SECOND, WRONG_BURST)
        self._paused = 0

    async def caller(self, secret: str, address: str, kind: SecretKind = "key") -> AuthenticatedCaller:
        """Whoever shows this. A good key is always let in; an address that sent many wrong ones waits for its answers.

        A key is 192 random bits: nobody finds one by trying. What is limited is the work that trying makes.
        """
        if not secret:
            raise KeyMissing("A key is needed here.")
        named = kind, hashlib.sha256(secret.encode()).digest()
        known = self._known.get(named)
        if known is not None and time.monotonic() < known.until and known.key.works(known.memory.clock()):
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
            raise without_details(error) from error
        if len(self._known) >= MOST_CALLERS:
            self._known.clear()
        self._known[named] = caller
        return caller

    async def leave(self, token: str) -> None:
        """End a visit, also for whoever else has its token."""
        await self._lookups.do(lambda: self._end(token))
        self._known.pop(("login", hashlib.sha256(token.encode()).digest()), None)

    async def _found(self, secret: str, kind: SecretKind, line: Hashable) -> AuthenticatedCaller:
        if kind == "key" and not keys.looks_like_key(secret):
            raise Unauthorized(keys.UNKNOWN_KEY)
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
        raise rate_limited(waiting)

    def _checked(self, secret: str, kind: SecretKind) -> AuthenticatedCaller:
        key, memory = self._valid(secret, kind)
        self._notes.later(functools.partial(_note_use, memory, key))
        theirs = memory if key.project is None else for_project(memory, key.project)
        return AuthenticatedCaller(key, theirs, time.monotonic() + FRESH_SECONDS, lambda: self._recheck(secret, kind))

    def _valid(self, secret: str, kind: SecretKind) -> tuple[Key, LocalMemory]:
        """The key that works now, and the book of its space."""
        check, refused = keys.check_key if kind == "key" else keys.check_login, Unauthorized(keys.UNKNOWN_KEY)
        # Nearly always one: the spaces whose keys begin like this.
        for memory in spaces.memories_of_key(self._reach(), secret):
            try:
                return check(memory, secret), memory
            except Unauthorized as error:
                refused = error
        raise refused

    def _recheck(self, secret: str, kind: SecretKind) -> None:
        self._valid(secret, kind)

    def _end(self, token: str) -> None:
        for memory in spaces.memories_of_key(self._reach(), token):
            with contextlib.suppress(Unauthorized):
                keys.end_login(memory, token)


def _note_use(memory: LocalMemory, key: Key) -> None:
    # A store that is busy or only readable answers questions all the same.
    with contextlib.suppress(CommonplaceError):
        keys.record_key_use(memory, key)


# What anybody may read: these, and what is below the trees.
PUBLIC = ("/", "/health", "/api/v1/openapi.json")
# Clients look below /.well-known for a way to sign in that we do not have: they have to be told that there is none.
PUBLIC_TREES = ("/api/v1/docs", "/.well-known", "/mcp/.well-known")
SERVICE_UNAVAILABLE = 503


class Authentication:
    """Puts `key`, `book`, `address` and how to `recheck` the key into the state of each request, or refuses it.

    `by_login` says that the key is that of a visit, known by its cookie.

    `is_page` tells which paths are for people, also by what the caller can read: there a visit counts, and whoever has
    none is let through, to sign in.
    """

    def __init__(
        self, app: ASGIApp, callers: KeyCache, settings: Settings, is_page: Callable[[str, str], bool]
    ) -> None:
        self._app, self._callers, self._is_page = app, callers, is_page
        self._proxies = TrustedProxies(settings.trusted_proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            state = scope.setdefault("state", {})
            state["address"] = self._proxies.caller(scope, headers)
            scope["scheme"] = self._proxies.scheme(scope, headers)
            page = self._is_page(scope["path"], headers.get("accept", ""))
            try:
                secret = _secret(headers)
                state["by_login"] = page and not secret
                if state["by_login"]:
                    caller = await self._callers.caller(login_token(HTTPConnection(scope)), state["address"], "login")
                else:
                    caller = await self._callers.caller(secret, state["address"])
                state["key"], state["memory"], state["recheck"] = caller.key, caller.memory, caller.recheck
                if (connection := state.get("connection")) is not None:
                    connection.authenticated = True
            except CommonplaceError as error:
                state["refused"] = error
                if not page and not is_public(scope["path"]):
                    # Without its store the server knows nobody; that is no fault of the caller.
                    status = SERVICE_UNAVAILABLE if isinstance(error, StoreError) else None
                    await error_response(error, status)(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def is_public(path: str) -> bool:
    return path in PUBLIC or any(path == tree or path.startswith(tree + "/") for tree in PUBLIC_TREES)


def _secret(headers: Headers) -> str:
    scheme, _, secret = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip()
    return headers.get("x-api-key", "").strip()
