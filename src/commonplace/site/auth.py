"""Authentication: whose key or login a request has, and the memory of the space it belongs to.

A key is looked up at most every few seconds, so a revoked one stops working within that time. Programs send keys and
browsers send login tokens: neither is accepted in place of the other.
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
from commonplace.http_responses import error_response
from commonplace.memory import keys_and_spaces
from commonplace.memory.authors import http_writer, with_writer
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.model import Key
from commonplace.site.health_probes import SERVICE_UNAVAILABLE, without_details
from commonplace.site.rate_limits import TokenBuckets, rate_limited
from commonplace.site.request_origin import TrustedProxies
from commonplace.site.server_state import OwnState, ServerState
from commonplace.web.page_handler import login_token
from commonplace.worker_threads import Workers

# A revoked key, or a login that was ended at another server, works at most this much longer.
FRESH_SECONDS = 3.0
MAX_CALLERS = 1_000
# Wrong keys from one address: beyond the burst each is answered after a pause, as long as not too many wait.
WRONG_PER_SECOND, WRONG_BURST = 1.0, 20
WRONG_PAUSE_SECONDS, MAX_PAUSED = 1.0, 32

SecretKind = Literal["key", "login"]


@dataclass(frozen=True, slots=True)
class AuthenticatedCaller:
    """A key that works, and until when that need not be checked again: of a login, unless one was ended since.

    `recheck` looks it up again, in a thread that may wait for the store: Unauthorized if it no longer works.
    """

    key: Key
    memory: LocalMemory
    until: float
    logins_ended: int
    recheck: Callable[[], None]


class KeyCache:
    """The keys and logins that were checked lately.

    `lookups` are threads that only look keys up: a flood of them delays no other work. `notes` record when keys were
    used, which may have to wait for another writer.
    """

    def __init__(
        self, open_memory: Callable[[], LocalMemory], lookups: Workers, notes: Workers, state: ServerState | None = None
    ) -> None:
        self._open_memory, self._lookups, self._notes = open_memory, lookups, notes
        self._state = state or OwnState()
        self._known: dict[tuple[SecretKind, bytes], AuthenticatedCaller] = {}
        self._wrong = TokenBuckets(WRONG_PER_SECOND, WRONG_BURST, levels=self._state.levels("wrong keys"))
        self._paused = 0

    async def caller(self, secret: str, address: str, kind: SecretKind = "key") -> AuthenticatedCaller:
        """The caller with this secret. A working key is always accepted; after many wrong ones an address has to wait.

        A key is 192 random bits: nobody finds one by trying. What is limited is the work that trying causes.
        """
        if not secret:
            raise KeyMissing("A key is needed here.")
        digest = kind, hashlib.sha256(secret.encode()).digest()
        known = self._known.get(digest)
        if known is not None and self._is_fresh(known, kind) and known.key.works(known.memory.clock()):
            return known
        try:
            caller = await self._found(secret, kind, address if known is None else known.key.id)
        except Unauthorized:
            self._known.pop(digest, None)
            # A browser keeps sending the token of an expired login, with every picture of a page.
            if kind == "key":
                await self._slow_down(address)
            raise
        except StoreError as error:
            # Nobody knows whether this key works; only those whose key worked before get details.
            if known is not None:
                raise
            raise without_details(error) from error
        if len(self._known) >= MAX_CALLERS:
            self._known.clear()
        self._known[digest] = caller
        return caller

    async def leave(self, token: str) -> None:
        """End a login, also for others who have its token."""
        await self._lookups.do(lambda: self._end(token))
        self._state.note_login_ended()

    def _is_fresh(self, known: AuthenticatedCaller, kind: SecretKind) -> bool:
        if kind == "login" and known.logins_ended != self._state.logins_ended:
            return False
        return time.monotonic() < known.until

    async def _found(self, secret: str, kind: SecretKind, line: Hashable) -> AuthenticatedCaller:
        if kind == "key" and not keys_and_spaces.looks_like_key(secret):
            raise Unauthorized(keys_and_spaces.UNKNOWN_KEY)
        ended = self._state.logins_ended
        return await self._lookups.do(lambda: self._checked(secret, kind, ended), line)

    async def _slow_down(self, address: str) -> None:
        """Count a wrong key; RateLimited, after a pause, if there were too many."""
        if not (waiting := self._wrong.take(address)):
            return
        if self._paused < MAX_PAUSED:
            self._paused += 1
            try:
                await asyncio.sleep(WRONG_PAUSE_SECONDS)
            finally:
                self._paused -= 1
        raise rate_limited(waiting)

    def _checked(self, secret: str, kind: SecretKind, ended: int) -> AuthenticatedCaller:
        key, memory = self._valid(secret, kind)
        self._notes.later(functools.partial(_note_use, memory, key))
        own = memory if key.project is None else for_project(memory, key.project)
        # The same one for all requests of a person, so that what is kept for it is found again.
        own = with_writer(own, http_writer(key.name, {}, by_login=True))
        until = time.monotonic() + FRESH_SECONDS
        return AuthenticatedCaller(key, own, until, ended, lambda: self._recheck(secret, kind))

    def _valid(self, secret: str, kind: SecretKind) -> tuple[Key, LocalMemory]:
        """The key, if it works now, and the memory of its space."""
        check, refused = (
            keys_and_spaces.check_key if kind == "key" else keys_and_spaces.check_login,
            Unauthorized(keys_and_spaces.UNKNOWN_KEY),
        )
        # Nearly always one: the spaces whose keys begin like this.
        for memory in keys_and_spaces.memories_of_key(self._open_memory(), secret):
            try:
                return check(memory, secret), memory
            except Unauthorized as error:
                refused = error
        raise refused

    def _recheck(self, secret: str, kind: SecretKind) -> None:
        self._valid(secret, kind)

    def _end(self, token: str) -> None:
        for memory in keys_and_spaces.memories_of_key(self._open_memory(), token):
            with contextlib.suppress(Unauthorized):
                keys_and_spaces.end_login(memory, token)


def _note_use(memory: LocalMemory, key: Key) -> None:
    # A store that is busy or read-only still answers.
    with contextlib.suppress(CommonplaceError):
        keys_and_spaces.record_key_use(memory, key)


# What anybody may read without a key: these, and everything below the trees.
PUBLIC = ("/", "/health", "/api/v1/openapi.json")
# Clients look below /.well-known for OAuth: they have to learn that there is none.
PUBLIC_TREES = ("/api/v1/docs", "/.well-known", "/mcp/.well-known")


class Authentication:
    """Puts `key`, `memory`, `address` and `recheck` into the state of each request, or refuses it.

    `by_login` is set if the key is known by the cookie of a login.

    `is_page` decides, by path and Accept header, what is for people: there a login counts, and a request without one
    passes, to sign in.
    """

    def __init__(
        self, app: ASGIApp, key_cache: KeyCache, settings: Settings, is_page: Callable[[str, str], bool]
    ) -> None:
        self._app, self._key_cache, self._is_page = app, key_cache, is_page
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
                    caller = await self._key_cache.caller(login_token(HTTPConnection(scope)), state["address"], "login")
                else:
                    caller = await self._key_cache.caller(secret, state["address"])
                writer = http_writer(caller.key.name, headers, by_login=state["by_login"])
                memory = with_writer(caller.memory, writer)
                state["key"], state["memory"], state["recheck"] = caller.key, memory, caller.recheck
                if (connection := state.get("connection")) is not None:
                    connection.authenticated = True
            except CommonplaceError as error:
                state["refused"] = error
                if not page and not is_public(scope["path"]):
                    # Without its store the server knows nobody; that is not the caller's fault.
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
