"""Authentication: whose key or login a request has, and the memory of the space it belongs to; and the first key.

A key is looked up at most every few seconds, so a revoked one stops working within that time. Programs send keys and
browsers send login tokens: neither is accepted in place of the other. The first key is in a file that only the owner of
the server can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Literal, TextIO

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, KeyMissing, StoreError, StoreReadOnly, Unauthorized
from commonplace.http_responses import error_response
from commonplace.http_server.middleware import (
    SERVICE_UNAVAILABLE,
    TokenBuckets,
    TrustedProxies,
    rate_limited,
    without_details,
)
from commonplace.http_server.shared_state import OwnState, ServerState
from commonplace.memory import api_keys, spaces
from commonplace.memory.authors import with_writer
from commonplace.memory.callers import http_writer
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.model import FIRST_KEY_NAME, Key
from commonplace.web.login import LoginTickets
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
        if kind == "key" and not api_keys.looks_like_key(secret):
            raise Unauthorized(api_keys.UNKNOWN_KEY)
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
        own = with_writer(own, http_writer(key, own.settings, {}, by_login=True))
        until = time.monotonic() + FRESH_SECONDS
        return AuthenticatedCaller(key, own, until, ended, lambda: self._recheck(secret, kind))

    def _valid(self, secret: str, kind: SecretKind) -> tuple[Key, LocalMemory]:
        """The key, if it works now, and the memory of its space."""
        check, refused = (
            api_keys.check_key if kind == "key" else api_keys.check_login,
            Unauthorized(api_keys.UNKNOWN_KEY),
        )
        # Nearly always one: the spaces whose keys begin like this.
        for memory in spaces.memories_of_key(self._open_memory(), secret):
            try:
                return check(memory, secret), memory
            except Unauthorized as error:
                refused = error
        raise refused

    def _recheck(self, secret: str, kind: SecretKind) -> None:
        self._valid(secret, kind)

    def _end(self, token: str) -> None:
        for memory in spaces.memories_of_key(self._open_memory(), token):
            with contextlib.suppress(Unauthorized):
                api_keys.end_login(memory, token)


def _note_use(memory: LocalMemory, key: Key) -> None:
    # A store that is busy or read-only still answers.
    with contextlib.suppress(CommonplaceError):
        api_keys.record_key_use(memory, key)


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
                writer = http_writer(caller.key, caller.memory.settings, headers, by_login=state["by_login"])
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


_ANOTHER = "`commonplace keys create NAME` creates a key."


def ensure_first_key(memory: LocalMemory, path: Path) -> str:
    """Make a key if none works yet; returns what the person starting the server should know about keys."""
    if path.is_symlink():
        raise StoreReadOnly(f"The key file {path} is a link.", "Put the file itself there, or remove the link.")
    stored = _read(path)
    if stored and _works(memory, stored):
        return f"Its API key is in {path}."
    if api_keys.working_keys(memory):
        return f"Keys exist, but none is in {path}. {_ANOTHER}"
    if stored and not api_keys.looks_like_key(stored):
        return f"{path} contains no Commonplace key. {_ANOTHER}"
    try:
        if stored is not None:
            path.unlink(missing_ok=True)
        # A store on a server does not need the folder.
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(memory, path)
    except FileExistsError:
        # Another server starts at the same moment.
        return f"Its API key is in {path}."
    except OSError as error:
        raise StoreReadOnly(f"The key file {path} cannot be written: {error.strerror}.") from error
    return f"Its first API key was created and is in {path}."


def read_key_file(path: Path) -> str | None:
    """The key in the file, if there is one."""
    stored = _read(path)
    return stored if stored is not None and api_keys.looks_like_key(stored) else None


def _make(memory: LocalMemory, path: Path) -> None:
    """The file gets its name once it is complete. If it cannot be written, the key is revoked."""
    key, secret = api_keys.create_key(memory, FIRST_KEY_NAME, "admin")
    part = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        with _create_private(part) as file:
            file.write(secret + "\n")
        _name(part, path)
    except OSError:
        api_keys.revoke_key(memory, key.id)
        raise
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, path: Path) -> None:
    """Name the file by a hard link, which, unlike renaming, replaces nothing."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        part.rename(path)


def _create_private(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _works(memory: LocalMemory, secret: str) -> bool:
    try:
        api_keys.check_key(memory, secret)
    except Unauthorized:
        return False
    return True


def login_link(address: str, secret: str | None, tickets: LoginTickets) -> str:
    """The address of the home page; with a ticket if a person who has the key anyway reads it."""
    if secret is None or not sys.stderr.isatty():
        return f"{address}/"
    return f"{address}/enter?ticket={tickets.issue(secret)}"


def should_open_browser(wanted: bool | None) -> bool:
    """Whether to open a browser: as wanted, or if a person sits at a terminal with a screen."""
    if wanted is not None:
        return wanted
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and _has_screen()


def open_browser(address: str) -> None:
    """Open the page in the browser without waiting for it: some return only when they are closed."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_screen() -> bool:
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
