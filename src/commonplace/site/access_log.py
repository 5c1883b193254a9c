"""The access log: every request gets an id, and is counted and logged when its response begins.

Only what is known beforehand is logged, such as the template of its route: no address, no question, no text.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.rest.metrics import AnsweredRequest, RequestMetrics
from commonplace.site import logs
from commonplace.text.redact import redact

HEADER = "x-request-id"
NO_ROUTE = "other"
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_NAME = re.compile(r"[A-Za-z0-9._:-]{1,100}")
# Load balancers call these every few seconds.
_QUIET = ("/live", "/ready")


class AccessLog:
    """Gives each request an id, and passes the outcome to the metrics and the log."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], requests: RequestMetrics) -> None:
        self._app, self._routes, self._requests = app, routes, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, responding = time.perf_counter(), False
        request = {name: scope[name] for name in ("type", "path", "method")}
        name = _request_id(Headers(scope=scope).get(HEADER, ""))
        token = logs.request_id.set(name)

        async def logged_send(message: Message) -> None:
            nonlocal responding
            if message["type"] == "http.response.start":
                responding = True
                MutableHeaders(scope=message)[HEADER] = name
                self._record(scope, request, message["status"], time.perf_counter() - started)
            await send(message)

        try:
            with self._requests.in_progress():
                await self._app(scope, receive, logged_send)
        finally:
            if not responding:
                self._record(scope, request, 500, time.perf_counter() - started)
            logs.request_id.reset(token)

    def _record(self, scope: Scope, request: dict[str, Any], status: int, seconds: float) -> None:
        state: dict[str, Any] = scope.get("state", {})
        method = request["method"] if request["method"] in METHODS else NO_ROUTE
        route = self._template(scope, request)
        answered = AnsweredRequest(method, route, status, seconds, tool=state.get("tool"), error=state.get("error"))
        self._requests.count(answered)
        level = logging.DEBUG if route in _QUIET else logging.INFO
        if logs.is_logged(level):
            _log_request(level, answered, state.get("key"), state.get("memory"))

    def _template(self, scope: Scope, request: dict[str, Any]) -> str:
        """The template of the route, also of a request that was refused before it reached one."""
        named = scope.get("state", {}).get("route")
        if named is not None:
            return str(named)
        found = scope.get("route")
        if found is not None:
            return f"{scope.get('root_path', '')}{found.path}"
        matching = (route for route in self._routes if route.matches(request)[0] is not Match.NONE)
        return str(getattr(next(matching, None), "path", NO_ROUTE))


def _log_request(level: int, answered: AnsweredRequest, key: Key | None, memory: LocalMemory | None) -> None:
    fields = {
        "method": answered.method,
        "route": answered.route,
        "status": answered.status,
        "duration_ms": round(answered.seconds * 1000, 1),
        "key": None if key is None else key.id,
        "space": None if memory is None else memory.settings.space,
        "tool": answered.tool,
        "error": answered.error,
    }
    more = " ".join(f"{name} {fields[name]}" for name in ("key", "tool", "error") if fields[name] is not None)
    message = f"{answered.method} {answered.route} {answered.status} in {fields['duration_ms']} ms {more}".rstrip()
    logs.log_event(level, "request", fields, message)


def _request_id(given: str) -> str:
    """The caller's own id of the request, unless it may not be repeated."""
    return given if _NAME.fullmatch(given) and redact(given) == given else uuid.uuid4().hex
