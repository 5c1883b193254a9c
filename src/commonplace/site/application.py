"""The whole site as one ASGI application: its routes, and what every request passes on its way to them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, StoreError
from commonplace.helper_processes import Helpers
from commonplace.mcp.http import Protocol, protocol
from commonplace.memory.book import Book
from commonplace.memory.spaces import looks_after_all
from commonplace.memory.status import answers, status
from commonplace.rest.metrics import Requests
from commonplace.rest.refusal import refusal
from commonplace.rest.routes import routes as rest
from commonplace.site.access import Access
from commonplace.site.callers import Callers
from commonplace.site.front import Front
from commonplace.site.guard import Guard
from commonplace.site.limits import Limits
from commonplace.site.probes import Probes, unexplained
from commonplace.site.who import SERVICE_UNAVAILABLE, Who
from commonplace.web.frame import Frame
from commonplace.web.login import Tickets
from commonplace.web.lost import is_typed
from commonplace.web.routes import is_page, lost
from commonplace.web.routes import routes as web
from commonplace.workers import WORKERS, Workers, slow_workers


def application(
    reach: Callable[[], Book],
    settings: Settings,
    ending: Callable[[], bool] = lambda: False,
    tickets: Tickets | None = None,
    agents_of: Callable[[Settings, Workers], Protocol] = protocol,
    *,
    apart: bool = True,
) -> ASGIApp:
    """The site over the book, reached for at each call. `ending` tells those who listen that it is about to stop.

    `tickets` sign in whoever was given one. `agents_of` makes what agents are answered by. `apart`
    says that other processes work on what is uploaded.
    """
    slow, requests = slow_workers(), Requests()
    helpers = Helpers() if apart else None
    workers = Workers(share=WORKERS - 1, slow=slow, helpers=helpers)
    # So that nothing that callers have done keeps the server from knowing them, or from telling how it is.
    lookups, notes, glances = Workers(1, most_waiting=sys.maxsize), Workers(1), Workers(1)
    agents = agents_of(settings, workers)
    callers = Callers(reach, lookups, notes)
    pages = web(workers, ending, callers, tickets or Tickets())
    routes = [
        Route("/", Front(pages)),
        *pages,
        Route("/health", _health(reach, workers)),
        *rest(workers, requests, ending),
        *agents.routes,
        *(Route(path, _nothing) for path in ("/.well-known/{rest:path}", "/mcp/.well-known/{rest:path}")),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with agents.running():
            yield
        # Before the store is closed, so that no thread opens it again.
        if helpers is not None:
            helpers.close()
        for threads in (workers, slow, lookups, notes, glances):
            threads.close()

    handlers = {HTTPException: _http_error(lost(workers, ending)), Exception: _fault}
    site = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    who = Who(Limits(site, settings), callers, settings, is_page)
    return Access(Probes(Guard(who, settings), reach, ending, glances), routes, requests)


def _health(reach: Callable[[], Book], workers: Workers) -> Callable[[Request], Awaitable[Response]]:
    began = time.monotonic()

    async def health(request: Request) -> Response:
        book = getattr(request.state, "book", None)
        try:
            if book is not None:
                theirs = looks_after_all(book, request.state.key)
                told = await workers.do(lambda: status(book, whereabouts=theirs))
                uptime = {"uptime_seconds": int(time.monotonic() - began)}
                return JSONResponse({"status": "healthy", **told, **uptime})
            return JSONResponse({"status": "healthy", "version": await workers.do(lambda: answers(reach()))})
        except StoreError as error:
            return refusal(unexplained(error) if book is None else error, SERVICE_UNAVAILABLE)
        except CommonplaceError as error:
            return refusal(error, SERVICE_UNAVAILABLE)

    return health


def _http_error(nowhere: Frame) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def told(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        absent = error.status_code == 404
        typed = request.method == "GET" and is_typed(request.url.path, request.headers.get("accept", ""))
        if absent and typed:
            return await nowhere.response(request)
        unknown = NotFound("There is nothing here.", "`/` tells what is where.") if absent else None
        response = refusal(unknown or InvalidInput(f"{error.detail}.", "Call it otherwise."), error.status_code)
        response.headers.update(error.headers or {})
        return response

    return told


async def _nothing(_request: Request) -> Response:
    """For programs that look for what is not here, with any key or none."""
    return refusal(NotFound("There is nothing here.", "Calls need a key: Authorization: Bearer <key>."))


async def _fault(_request: Request, error: Exception) -> Response:
    return refusal(CommonplaceError(f"The call failed: {type(error).__name__}."))
