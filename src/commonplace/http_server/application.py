"""The whole server as one ASGI application: its routes, and the middleware that every request passes."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, StoreError
from commonplace.helper_processes import Helpers
from commonplace.http_responses import error_response
from commonplace.http_server.auth import Authentication, KeyCache
from commonplace.http_server.logs import AccessLog
from commonplace.http_server.middleware import SERVICE_UNAVAILABLE, HealthProbes, HostCheck, RateLimits, without_details
from commonplace.http_server.shared_state import OwnState, ServerState
from commonplace.mcp.http import McpRoutes, mcp_routes
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.spaces import is_server_admin
from commonplace.memory.status_and_stats import check_ready, status
from commonplace.rest.api_handler import routes as rest
from commonplace.rest.metrics import RequestMetrics
from commonplace.web.login import LoginTickets
from commonplace.web.page_handler import PageHandler
from commonplace.web.routes import is_browser_request, is_page, not_found_handler
from commonplace.web.routes import routes as web
from commonplace.worker_threads import AT_ONCE, WORKERS, Workers, slow_workers

WELCOME = """\
Commonplace is running.

Agents:    {address}/mcp     (Model Context Protocol, streamable HTTP)
Programs:  {address}/api/v1  (REST; try it at {address}/api/v1/docs)
Health:    {address}/health
People:    {address}/        (in a browser), or commonplace --help

Calls need a key: Authorization: Bearer <key>. `commonplace keys create NAME` creates one.
"""

# So many parts of a path tell routes apart well enough: /api/v1/items.
_INDEXED_PARTS = 3
_MATCHED = "commonplace.route"


class FrontPage:
    """The address `/`: the home page for browsers, which accept HTML, and a text for programs."""

    def __init__(self, pages: Sequence[BaseRoute]) -> None:
        self._home = next(page.app for page in pages if isinstance(page, Route) and page.path == "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if "text/html" in request.headers.get("accept", "") or request.method not in ("GET", "HEAD"):
            await self._home(scope, receive, send)
            return
        welcome = WELCOME.format(address=str(request.base_url).rstrip("/"))
        await PlainTextResponse(welcome, headers={"Vary": "Accept"})(scope, receive, send)


def application(
    open_memory: Callable[[], LocalMemory],
    settings: Settings,
    ending: Callable[[], bool] = lambda: False,
    tickets: LoginTickets | None = None,
    agents_of: Callable[[Settings, Workers], McpRoutes] = mcp_routes,
    *,
    apart: bool = True,
    state: ServerState | None = None,
) -> ASGIApp:
    """The application over a memory that is opened when first needed. `ending` says that the server is stopping.

    `tickets` sign in whoever has one. `agents_of` makes the MCP routes. With `apart`, other processes work on uploads.
    `state` is what workers of the same server share.
    """
    state = state or OwnState()
    slow, requests = slow_workers(), RequestMetrics()
    helpers = Helpers() if apart else None
    # A thread that waits for another machine computes nothing.
    at_once = WORKERS if settings.database_url else AT_ONCE
    workers = Workers(share=WORKERS - 1, at_once=at_once, slow=slow, helpers=helpers)
    # Threads of their own, so that no work of callers delays checking keys or answering probes.
    lookups, notes, probes = Workers(1, most_waiting=sys.maxsize), Workers(1), Workers(1)
    agents = agents_of(settings, workers)
    key_cache = KeyCache(open_memory, lookups, notes, state)
    pages = web(workers, key_cache, tickets or LoginTickets())
    routes = [
        Route("/", FrontPage(pages)),
        *pages,
        Route("/health", _health(open_memory, workers)),
        *rest(workers, requests, ending),
        *agents.routes,
        *(Route(path, _not_here) for path in ("/.well-known/{rest:path}", "/mcp/.well-known/{rest:path}")),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with agents.running():
            yield
        # Before the store is closed, so that no thread opens it again.
        if helpers is not None:
            helpers.close()
        for threads in (workers, slow, lookups, notes, probes):
            threads.close()

    handlers = {HTTPException: _http_error(not_found_handler(workers)), Exception: _server_error}
    site = Starlette(routes=[RouteIndex(routes)], lifespan=lifespan, exception_handlers=handlers)
    authenticated = Authentication(RateLimits(site, settings, state), key_cache, settings, is_page)
    return AccessLog(HealthProbes(HostCheck(authenticated, settings), open_memory, ending, probes), routes, requests)


def _health(open_memory: Callable[[], LocalMemory], workers: Workers) -> Callable[[Request], Awaitable[Response]]:
    began = time.monotonic()

    async def health(request: Request) -> Response:
        memory = getattr(request.state, "memory", None)
        try:
            if memory is not None:
                admin = is_server_admin(memory, request.state.key)
                details = await workers.do(lambda: status(memory, show_paths=admin))
                uptime = {"uptime_seconds": int(time.monotonic() - began)}
                return JSONResponse({"status": "healthy", **details, **uptime})
            return JSONResponse({"status": "healthy", "version": await workers.do(lambda: check_ready(open_memory()))})
        except StoreError as error:
            return error_response(without_details(error) if memory is None else error, SERVICE_UNAVAILABLE)
        except CommonplaceError as error:
            return error_response(error, SERVICE_UNAVAILABLE)

    return health


def _http_error(not_found: PageHandler) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        absent = error.status_code == 404
        typed = request.method == "GET" and is_browser_request(request.url.path, request.headers.get("accept", ""))
        if absent and typed:
            return await not_found.respond(request)
        unknown = NotFound("There is nothing here.", "`/` shows what is where.") if absent else None
        response = error_response(
            unknown or InvalidInput(f"{error.detail}.", "Check the method and the path."), error.status_code
        )
        response.headers.update(error.headers or {})
        return response

    return handle


async def _not_here(_request: Request) -> Response:
    """For programs that look for what is not here, with or without a key."""
    return error_response(NotFound("There is nothing here.", "Calls need a key: Authorization: Bearer <key>."))


async def _server_error(_request: Request, error: Exception) -> Response:
    return error_response(CommonplaceError(f"The call failed: {type(error).__name__}."))


class RouteIndex(BaseRoute):
    """All routes as one, in the same order of precedence: only those that begin like a path are tried."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        beginnings = [_fixed_parts(route) for route in routes]
        known = {parts[:depth] for parts in beginnings for depth in range(len(parts) + 1)}
        self._routes = {
            key: [route for route, parts in zip(routes, beginnings, strict=True) if key[: len(parts)] == parts]
            for key in known
        }

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        found: tuple[Match, Scope] = (Match.NONE, {})
        for route in self._beginning_like(scope["path"]):
            match, matched = route.matches(scope)
            if match is not Match.NONE and found[0] is Match.NONE:
                found = (match, {**matched, _MATCHED: route})
            if match is Match.FULL:
                return match, {**matched, _MATCHED: route}
        return found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = scope.pop(_MATCHED)
        await scope["route"].handle(scope, receive, send)

    def _beginning_like(self, path: str) -> Sequence[BaseRoute]:
        """The routes whose fixed beginning is also that of the path."""
        parts = tuple(path.split("/", _INDEXED_PARTS + 1)[1 : _INDEXED_PARTS + 1])
        while parts not in self._routes:
            parts = parts[:-1]
        return self._routes[parts]


def _fixed_parts(route: BaseRoute) -> tuple[str, ...]:
    """The first parts of a route's path, up to one that is filled in; none if it has no path."""
    parts = route.path.split("/")[1 : _INDEXED_PARTS + 1] if isinstance(route, Route) else []
    return tuple(parts[: next((n for n, part in enumerate(parts) if "{" in part), len(parts))])
