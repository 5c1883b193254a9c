"""Probes: whether the process answers (/live), and whether requests should be sent to it (/ready).

Load balancers ask this every few seconds, by address and without a key: so neither Host, key nor rate matter here,
and nothing is told about the store but the code of what is wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.errors import CommonplaceError, ShuttingDown, StoreError, StoreUnavailable, WrongMethod
from commonplace.http.errors import error_response
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status import check_ready
from commonplace.workers import Workers

LIVE, READY = "/live", "/ready"
# A store that takes longer for a glance is not there for callers.
PATIENCE_SECONDS = 2.0
SERVICE_UNAVAILABLE = 503
_WHY = ("The store cannot be used now.", "`commonplace status` on the server tells why.")


class HealthProbes:
    """Answers probes before anything else looks at a request."""

    def __init__(
        self, app: ASGIApp, reach: Callable[[], LocalMemory], ending: Callable[[], bool], workers: Workers
    ) -> None:
        self._app, self._reach, self._ending, self._workers = app, reach, ending, workers
        self._look: asyncio.Future[CommonplaceError | None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in (LIVE, READY):
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["route"] = scope["path"]
        await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return error_response(WrongMethod("A probe is only asked.", "There is GET, HEAD."))
        if scope["path"] == LIVE:
            return JSONResponse({"status": "live"})
        if self._ending():
            return error_response(ShuttingDown("The server is shutting down."))
        error = await self._trouble()
        return JSONResponse({"status": "ready"}) if error is None else error_response(error, SERVICE_UNAVAILABLE)

    async def _trouble(self) -> CommonplaceError | None:
        """What is wrong with the store, looked at once for all who ask meanwhile."""
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(self._workers.do(self._glance))
        try:
            return await asyncio.wait_for(asyncio.shield(self._look), PATIENCE_SECONDS)
        except TimeoutError:
            return StoreUnavailable(*_WHY)

    def _glance(self) -> CommonplaceError | None:
        try:
            check_ready(self._reach())
        except StoreError as error:
            return without_details(error)
        except Exception:  # noqa: BLE001 - whatever it is, requests are better sent elsewhere
            return CommonplaceError(*_WHY)
        return None


def without_details(error: StoreError) -> StoreError:
    """The same for those without a key: where the store lies, and what is wrong with it, is not for them."""
    return type(error)(*_WHY)
