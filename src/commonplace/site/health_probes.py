"""Probes: whether the process answers (/live), and whether requests should be sent to it (/ready).

Load balancers call these every few seconds, by address and without a key: so neither Host, key nor rate matter here,
and of a problem with the store only its error code is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.errors import CommonplaceError, ShuttingDown, StoreError, StoreUnavailable, WrongMethod
from commonplace.http_responses import error_response
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
