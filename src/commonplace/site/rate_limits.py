"""Rate limits and body sizes: how often a key may call and how much it may send, so that none blocks the others."""

from __future__ import annotations

import asyncio
import functools
import math
import time
from collections.abc import Callable, Hashable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import RateLimited, TooLarge
from commonplace.http_responses import error_response
from commonplace.site.server_state import Levels, OwnLevels, ServerState

# Routes below these stream what they get into a file, and have a limit of their own.
IMPORTS = ("/api/v1/import",)
_MB = 1024 * 1024
# Megabytes that a caller may send at once, and per second after that; more is read no faster, because reading takes
# time of the one thread that serves all connections.
BODY_BURST_MB, BODY_MB_PER_SECOND = 32, 16.0


class TokenBuckets:
    """A bucket of tokens for each caller: `burst` at most, filled again at `per_second`."""

    def __init__(
        self,
        per_second: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        levels: Levels | None = None,
    ) -> None:
        self._cost, self._slack, self._clock = 1 / per_second, (burst - 1) / per_second, clock
        # When each caller's bucket will be full again: that number says how empty it is now.
        self._full_at = levels or OwnLevels()

    def wait(self, who: Hashable) -> float:
        """Seconds until the caller may have a token; 0 if there is one."""
        now = self._clock()
        return max(0.0, self._full_at.get(who, now) - now - self._slack)

    def spend(self, who: Hashable, tokens: float) -> float:
        """Take so many tokens, even if there are fewer; the seconds until the debt is paid."""
        with self._full_at.locked():
            now = self._clock()
            full_at = max(now, self._full_at.get(who, now)) + tokens * self._cost
            self._full_at.put(who, full_at, now)
        return max(0.0, full_at - now - self._slack - self._cost)

    def take(self, who: Hashable) -> float:
        """Take a token if there is one; else the seconds to wait."""
        with self._full_at.locked():
            waiting = self.wait(who)
            if not waiting:
                now = self._clock()
                self._full_at.put(who, max(now, self._full_at.get(who, now)) + self._cost, now)
        return waiting


def rate_limited(seconds: float) -> RateLimited:
    return RateLimited("Too many requests in too short a time.", max(1, math.ceil(seconds)))


async def _left(receive: Receive) -> None:
    """Wait until the caller of a request that was read to its end closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


class RateLimits:
    """Counts the requests of each key, or of each address without one, and the bytes of each body."""

    def __init__(self, app: ASGIApp, settings: Settings, state: ServerState) -> None:
        self._app = app
        self._buckets = TokenBuckets(settings.rate_limit, settings.rate_burst, levels=state.levels("requests"))
        self._sent = TokenBuckets(BODY_MB_PER_SECOND, BODY_BURST_MB, levels=state.levels("bytes"))
        self._most, self._most_imported = settings.max_body_mb, settings.max_import_mb

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        key = scope["state"].get("key")
        caller = scope["state"]["address"] if key is None else key.id
        if waiting := self._buckets.take(caller):
            await error_response(rate_limited(waiting))(scope, receive, send)
            return
        # For code that works on the request once the body has been read.
        scope["state"]["left"] = functools.partial(_left, receive)
        importing = scope["path"].startswith(IMPORTS)
        most_mb = self._most_imported if importing else self._most
        await self._within(most_mb, caller, scope, receive, send)

    async def _within(self, most_mb: int, caller: Hashable, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application with a body of at most so many megabytes; the rest is not read."""
        error = TooLarge(f"The body is larger than {most_mb} MB.", "Send it in smaller parts.")
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > most_mb * _MB:
            await error_response(error)(scope, receive, send)
            return
        left, started = most_mb * _MB, False

        async def counted_receive() -> Message:
            nonlocal left
            message = await receive()
            size = len(message.get("body", b""))
            left -= size
            if left < 0:
                raise error
            if size and (pause := self._sent.spend(caller, size / _MB)):
                await asyncio.sleep(pause)
            return message

        async def checked_send(message: Message) -> None:
            nonlocal started
            # Once the body is too large, what the application answers does not count, unless it had begun before.
            if left >= 0 or started:
                started = True
                await send(message)

        try:
            await self._app(scope, counted_receive, checked_send)
        except Exception:
            if left >= 0 or started:
                raise
        if left < 0 and not started:
            await error_response(error)(scope, receive, send)
