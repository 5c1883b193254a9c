"""What passes: every request has an id, and is counted and told when its answer begins.

Only what is known beforehand is told of it, such as the template of its route: no address, no question, no text.
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
NOWHERE = "other"
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_NAME = re.compile(r"[A-Za-z0-9._:-]{1,100}")
# Asked every few seconds by each load balancer.
_QUIET = ("/live", "/ready")


class AccessLog:
    """Names each request, and tells those who count and those who read logs what became of it."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], requests: RequestMetrics) -> None:
        self._app, self._routes, self._requests = app, routes, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, begun = time.perf_counter(), False
        asked = {name: scope[name] for name in ("type", "path", "method")}
        name = _named(Headers(scope=scope).get(HEADER, ""))
        token = logs.request_id.set(name)

        async def watched(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message)[HEADER] = name
                self._tell(scope, asked, message["status"], time.perf_counter() - started)
            await send(message)

        try:
            with self._requests.in_progress():
                await self._app(scope, receive, watched)
        finally:
            if not begun:
                self._tell(scope, asked, 500, time.perf_counter() - started)
            logs.request_id.reset(token)

    def _tell(self, scope: Scope, asked: dict[str, Any], status: int, seconds: float) -> None:
        state: dict[str, Any] = scope.get("state", {})
        method = asked["method"] if asked["method"] in METHODS else NOWHERE
        route = self._template(scope, asked)
        seen = AnsweredRequest(method, route, status, seconds, tool=state.get("tool"), error=state.get("error"))
        self._requests.count(seen)
        level = logging.DEBUG if route in _QUIET else logging.INFO
        if logs.is_logged(level):
            _log_request(level, seen, state.get("key"), state.get("memory"))

    def _template(self, scope: Scope, asked: dict[str, Any]) -> str:
        """Which route it was for, with the names of its gaps; whoever was refused before did not get to one."""
        named = scope.get("state", {}).get("route")
        if named is not None:
            return str(named)
        found = scope.get("route")
        if found is not None:
            return f"{scope.get('root_path', '')}{found.path}"
        matching = (route for route in self._routes if route.matches(asked)[0] is not Match.NONE)
        return str(getattr(next(matching, None), "path", NOWHERE))


def _log_request(level: int, seen: AnsweredRequest, key: Key | None, memory: LocalMemory | None) -> None:
    fields = {
        "method": seen.method,
        "route": seen.route,
        "status": seen.status,
        "duration_ms": round(seen.seconds * 1000, 1),
        "key": None if key is None else key.id,
        "space": None if memory is None else memory.settings.space,
        "tool": seen.tool,
        "error": seen.error,
    }
    more = " ".join(f"{name} {fields[name]}" for name in ("key", "tool", "error") if fields[name] is not None)
    words = f"{seen.method} {seen.route} {seen.status} in {fields['duration_ms']} ms {more}".rstrip()
    logs.log_event(level, "request", fields, words)


def _named(given: str) -> str:
    """The caller's own name of the request, unless it is none that may be repeated."""
    return given if _NAME.fullmatch(given) and redact(given) == given else uuid.uuid4().hex
