"""What every request passes first: probes are answered, foreign hosts refused, rates and body sizes limited.

Load balancers call /live and /ready every few seconds, by address and without a key: so neither Host, key nor rate
matter there, and of a problem with the store only its error code is shown. Trusted proxies name the real caller. Limits
are for each key, so that none blocks the others.
"""

from __future__ import annotations

import asyncio
import functools
import math
import re
import time
from collections.abc import Callable, Hashable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.config import Settings, listed
from commonplace.errors import (
    CommonplaceError,
    Forbidden,
    InvalidInput,
    RateLimited,
    ShuttingDown,
    StoreError,
    StoreUnavailable,
    TooLarge,
    WrongMethod,
)
from commonplace.http_responses import error_response
from commonplace.http_server.shared_state import Levels, OwnLevels, ServerState
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status_and_stats import check_ready
from commonplace.worker_threads import Workers

LIVE, READY = "/live", "/ready"
# A store that takes longer to answer a probe is unavailable.
TIMEOUT_SECONDS = 2.0
SERVICE_UNAVAILABLE = 503
_WHY = ("The store cannot be used at the moment.", "`commonplace status` on the server says why.")


class HealthProbes:
    """Answers probes before anything else handles a request."""

    def __init__(
        self, app: ASGIApp, open_memory: Callable[[], LocalMemory], ending: Callable[[], bool], workers: Workers
    ) -> None:
        self._app, self._open_memory, self._ending, self._workers = app, open_memory, ending, workers
        self._check: asyncio.Future[CommonplaceError | None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in (LIVE, READY):
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["route"] = scope["path"]
        await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return error_response(WrongMethod("Probes answer only GET and HEAD.", "There is GET, HEAD."))
        if scope["path"] == LIVE:
            return JSONResponse({"status": "live"})
        if self._ending():
            return error_response(ShuttingDown("The server is shutting down."))
        error = await self._store_problem()
        return JSONResponse({"status": "ready"}) if error is None else error_response(error, SERVICE_UNAVAILABLE)

    async def _store_problem(self) -> CommonplaceError | None:
        """What is wrong with the store, checked once for all probes that arrive meanwhile."""
        if self._check is None or self._check.done():
            self._check = asyncio.ensure_future(self._workers.do(self._check_store))
        try:
            return await asyncio.wait_for(asyncio.shield(self._check), TIMEOUT_SECONDS)
        except TimeoutError:
            return StoreUnavailable(*_WHY)

    def _check_store(self) -> CommonplaceError | None:
        try:
            check_ready(self._open_memory())
        except StoreError as error:
            return without_details(error)
        except Exception:  # noqa: BLE001 - whatever it is, requests are better sent elsewhere
            return CommonplaceError(*_WHY)
        return None


def without_details(error: StoreError) -> StoreError:
    """The same error for callers without a key: where the store is, and what is wrong with it, is not for them."""
    return type(error)(*_WHY)


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MISDIRECTED = 421

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


class HostCheck:
    """Accepts requests to one of our host names and, from web pages, only those of our own."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = {*LOOPBACK, *(_host_name(host) for host in listed(settings.allowed_hosts))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if not self._ours(headers.getlist("host")):
                error = Forbidden(
                    "The Host header names another server.", "Add its name to the setting allowed_hosts if it is ours."
                )
                await error_response(error, MISDIRECTED)(scope, receive, send)
                return
            if origins := headers.getlist("origin"):
                pages = [_ORIGIN.fullmatch(origin.lower()) for origin in origins]
                if not self._ours([page[1] if page else "" for page in pages]):
                    error = Forbidden("Pages from other sites cannot call.", "Call from a program, without Origin.")
                    await error_response(error)(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _ours(self, hosts: list[str]) -> bool:
        return len(hosts) == 1 and _host_name(hosts[0]) in self._names


def _host_name(host: str) -> str:
    """A host without its port; empty if it is not one."""
    match = _HOST.fullmatch(host.strip().lower())
    return match[1] if match else ""


UNKNOWN_ADDRESS = "unknown"


class TrustedProxies:
    """The proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""

    def __init__(self, trusted: str) -> None:
        try:
            self._networks = tuple(ip_network(entry, strict=False) for entry in listed(trusted))
        except ValueError as error:
            raise InvalidInput(
                f"Setting trusted_proxies is wrong: {error}.", "List addresses or networks, such as 10.0.0.0/8."
            ) from error

    def caller(self, scope: Scope, headers: Headers) -> str:
        """The nearest address that is not a trusted proxy."""
        client = scope.get("client")
        address = str(client[0]) if client else UNKNOWN_ADDRESS
        if not self._networks:
            return address
        forwarded = [entry for value in headers.getlist("x-forwarded-for") for entry in listed(value)]
        while forwarded and self._is_trusted(address):
            address = forwarded.pop()
        return address

    def scheme(self, scope: Scope, headers: Headers) -> str:
        """`http`, or `https` if a trusted proxy says so."""
        client = scope.get("client") if self._networks else None
        if client and self._is_trusted(str(client[0])) and headers.get("x-forwarded-proto", "").strip() == "https":
            return "https"
        return str(scope["scheme"])

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed: IPv4Address | IPv6Address = ip_address(address.strip("[]"))
        except ValueError:
            return False
        mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
        return any((mapped or parsed) in network for network in self._networks)


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
        body = _CountedBody(receive, send, most_mb * _MB, error, lambda mb: self._sent.spend(caller, mb))
        try:
            await self._app(scope, body.receive, body.send)
        except Exception:
            if not body.is_refused:
                raise
        if body.is_refused:
            await error_response(error)(scope, receive, send)


class _CountedBody:
    """A request whose body is counted as it is read. Once it is too large, `error` is its answer.

    `spend` takes the megabytes that arrived, and gives the seconds to wait before more is read.
    """

    def __init__(
        self, receive: Receive, send: Send, most: int, error: TooLarge, spend: Callable[[float], float]
    ) -> None:
        self._receive = receive
        self._send = send
        self._left = most
        self._error = error
        self._spend = spend
        self._started = False

    @property
    def is_refused(self) -> bool:
        """Whether it is too large. What the application answers then does not count, unless it had begun before."""
        return self._left < 0 and not self._started

    async def receive(self) -> Message:
        message = await self._receive()
        size = len(message.get("body", b""))
        self._left -= size
        if self._left < 0:
            raise self._error
        pause = self._spend(size / _MB) if size else 0.0
        if pause:
            await asyncio.sleep(pause)
        return message

    async def send(self, message: Message) -> None:
        if not self.is_refused:
            self._started = True
            await self._send(message)
