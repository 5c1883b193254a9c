"""The server's logs on standard error: every request with its id, as text for people or as JSON for programs.

Nothing that is remembered, searched for or secret is logged: of an exception only its type and place, not its message,
and of what a library logs only its name and place.
"""

from __future__ import annotations

import contextvars
import json
import logging
import random
import re
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.rest.metrics import AnsweredRequest, RequestMetrics
from commonplace.text.dates import iso_time
from commonplace.text.redact import redact

# Loggers whose messages are known to contain nothing of callers.
TRUSTED = ("commonplace", "uvicorn")

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")
"""The id of the request that is being answered, for everything that is logged meanwhile."""

_log = logging.getLogger("commonplace")


def set_up_logging(settings: Settings) -> None:
    """Log from the level of the settings on, in their format; of libraries from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormat() if settings.log_format == "json" else _TextFormat())
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING))
    for name in TRUSTED:
        logging.getLogger(name).setLevel(level)


def announce(event: str, **fields: object) -> None:
    """Log something whatever the level is."""
    record = _log.makeRecord(_log.name, logging.INFO, __file__, 0, event, (), None, extra={"fields": fields})
    _log.handle(record)


def is_logged(level: int) -> bool:
    return _log.isEnabledFor(level)


def log_event(level: int, event: str, fields: Mapping[str, object], message: str) -> None:
    """Log an event: for programs its name and fields, for people a message."""
    _log.log(level, event, extra={"fields": fields, "message_text": message})


class _TextFormat(logging.Formatter):
    """Text for people."""

    def format(self, record: logging.LogRecord) -> str:
        entry = getattr(record, "message_text", "") or " ".join(_event(record).split("\n"))
        fault = _fault(record)
        return f"commonplace: {entry}" + (f": {fault['fault']} at {', '.join(fault['trace'])}" if fault else "")


class _JsonFormat(logging.Formatter):
    """JSON lines for programs."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": iso_time(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "event": _event(record),
        }
        if not _is_trusted(record):
            entry |= {"logger": record.name, "where": f"{record.filename}:{record.lineno}"}
        if current := request_id.get():
            entry["request_id"] = current
        fields: Mapping[str, object] = getattr(record, "fields", {})
        entry |= {name: value for name, value in fields.items() if value is not None}
        return json.dumps(entry | _fault(record), ensure_ascii=False)


def _event(record: logging.LogRecord) -> str:
    if _is_trusted(record):
        return redact(record.getMessage())
    return f"{record.name} said something at {record.filename}:{record.lineno}"


def _is_trusted(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in TRUSTED


def _fault(record: logging.LogRecord) -> dict[str, Any]:
    """The types of an exception and of its causes, and its stack, innermost last; not its message."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return {}
    frames = traceback.extract_tb(error.__traceback__)
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < 5:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__
    trace = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
    return {"fault": " from ".join(kinds), "trace": trace}


HEADER = "x-request-id"
_HEADER_BYTES = HEADER.encode()
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
        token = request_id.set(name)

        async def logged_send(message: Message) -> None:
            nonlocal responding
            if message["type"] == "http.response.start":
                responding = True
                message["headers"] = [*message.get("headers", ()), (_HEADER_BYTES, name.encode())]
                self._record(scope, request, message["status"], time.perf_counter() - started)
            await send(message)

        self._requests.begin()
        try:
            await self._app(scope, receive, logged_send)
        finally:
            self._requests.end()
            if not responding:
                self._record(scope, request, 500, time.perf_counter() - started)
            request_id.reset(token)

    def _record(self, scope: Scope, request: dict[str, Any], status: int, seconds: float) -> None:
        state: dict[str, Any] = scope.get("state", {})
        method = request["method"] if request["method"] in METHODS else NO_ROUTE
        route = self._template(scope, request)
        answered = AnsweredRequest(method, route, status, seconds, tool=state.get("tool"), error=state.get("error"))
        self._requests.count(answered)
        level = logging.DEBUG if route in _QUIET else logging.INFO
        if is_logged(level):
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
    log_event(level, "request", fields, message)


def _request_id(given: str) -> str:
    """The caller's own id of the request, unless it may not be repeated. A new one need not be hard to guess."""
    return given if _NAME.fullmatch(given) and redact(given) == given else f"{random.getrandbits(128):032x}"
