"""What the API, the pages and the server share of HTTP: requests are answered by their method, errors become responses.

Our own routes answer `{"error": {"code", "message", "details"}, "code": STATUS}`. Sekha's clients read `error` as a
sentence and take 400 for bad input; memories.sh's SDK reads an envelope with `ok`, `data` and `error`.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar, cast

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from commonplace.errors import CommonplaceError, KeyMissing, RateLimited, StoreBusy, Unauthorized, WrongMethod
from commonplace.helper_processes import CallerLeft
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Key
from commonplace.text.redact import redact_data

JSON = "application/json"
ErrorStyle = Literal["commonplace", "sekha", "memories"]
# The routes of Sekha's controller, with all below them.
SEKHA_ROUTES = (
    "/api/v1/conversations",
    "/api/v1/messages",
    "/api/v1/query",
    "/api/v1/search/fts",
    "/api/v1/context/assemble",
    "/api/v1/summarize",
    "/api/v1/labels",
    "/api/v1/prune",
    "/api/v1/stats",
    "/api/v1/export",
    "/api/v1/rebuild-embeddings",
    "/api/v1/mcp/tools",
    "/mcp/tools",
    "/mcp/memory",
)
MEMORIES_ROUTES = ("/api/sdk",)
SEKHA_AGENT = "Sekha-"
"""How the User-Agent of Sekha's Python and JavaScript SDKs begins."""
BAD_REQUEST, UNPROCESSABLE = 400, 422
# Of a caller that closed the connection before it was answered: the status that proxies log for it, and its code.
CLOSED_BY_CALLER, CALLER_LEFT = 499, "CALLER_LEFT"
_TYPES = {
    400: "validation_error",
    401: "auth_error",
    403: "auth_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
# Seconds after which another try may find the store free.
_BUSY = "1"
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_REALM = 'Bearer realm="commonplace"'


class ErrorResponse(Response):
    """An error whose body depends on the route and the client that get it.

    Notes the code of its error in the state of the request, for those who count and tell what became of it.
    """

    def __init__(self, error: CommonplaceError, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(b"", status, headers, JSON)
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["error"] = self._error.code
        style = error_style(scope.get("path", ""), Headers(scope=scope))
        self.status_code, self.body = rendered_error(self._error, self.status_code, style)
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def error_response(error: CommonplaceError, status: int | None = None) -> Response:
    """A response that tells the error, with the headers that belong to it."""
    headers = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = _challenge(error)
    if isinstance(error, (RateLimited, StoreBusy)):
        headers["Retry-After"] = str(error.retry_after) if isinstance(error, RateLimited) else _BUSY
    return ErrorResponse(error, status or error.http_status, headers)


def _challenge(error: Unauthorized) -> str:
    """The challenge of RFC 6750: without an error for who sent no key, with one for who sent a wrong one."""
    if isinstance(error, KeyMissing):
        return _REALM
    described = "".join(character for character in error.message if " " <= character <= "~" and character not in '"\\')
    return f'{_REALM}, error="invalid_token", error_description="{described}"'


def from_sekha_sdk(headers: Mapping[str, str]) -> bool:
    """Whether one of Sekha's own SDKs is calling, by its User-Agent."""
    return headers.get("user-agent", "").startswith(SEKHA_AGENT)


def error_style(path: str, headers: Mapping[str, str]) -> ErrorStyle:
    """In which shape the caller of this path reads errors."""
    if _is_below(path, MEMORIES_ROUTES):
        return "memories"
    return "sekha" if _is_below(path, SEKHA_ROUTES) or from_sekha_sdk(headers) else "commonplace"


def rendered_error(error: CommonplaceError, status: int, style: ErrorStyle) -> tuple[int, bytes]:
    """The status and the body of an error. Bad input is 400 to clients that would repeat a request after 422."""
    if style != "commonplace" and status == UNPROCESSABLE:
        status = BAD_REQUEST
    details: dict[str, Any] = {"code": error.code, "message": error.message, "details": error.hint}
    body: dict[str, Any] = {"error": details, "code": status}
    if style == "sekha":
        sentence = " ".join(part for part in (error.message, error.hint) if part)
        body = {"error": sentence, "code": status, "error_code": error.code, **_without_code(details)}
    elif style == "memories":
        kind = "internal_error" if status >= 500 else _TYPES.get(status, "http_error")
        retryable = status == RateLimited.http_status or status >= 500
        body = {
            "ok": False,
            "data": None,
            "error": {"type": kind, **details, "status": status, "retryable": retryable},
        }
    return status, json_bytes(redact_data(body))


def json_bytes(data: object) -> bytes:
    return _COMPACT.encode(data).encode("utf-8", "replace")


def _without_code(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in details.items() if name != "code"}


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root + "/") for root in roots)


log = logging.getLogger(__name__)

Row = TypeVar("Row")


class MethodHandler(ABC, Generic[Row]):
    """An ASGI application for one path, with the rows of a table (endpoints or pages) by their methods."""

    def __init__(self, path: str, rows: Mapping[str, Row]) -> None:
        self._path, self._rows = path, rows
        also = ("HEAD", "OPTIONS") if "GET" in rows else ("OPTIONS",)
        self._allow = ", ".join((*rows, *also))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.respond(Request(scope, receive))
        await response(scope, receive, send)

    async def respond(self, request: Request) -> Response:
        """The response to a request, also to one that fails."""
        row = self._rows.get("GET" if request.method == "HEAD" else request.method)
        try:
            if row is None:
                raise WrongMethod(f"{request.method[:20]} is not for {self._path}.", self.wrong_method_hint())
            return await self.answer(row, request)
        except CommonplaceError as error:
            return self.refuse(error, request, row)
        except (ClientDisconnect, CallerLeft):
            # Nobody reads it, but the log and the metrics tell it from a bad request.
            request.scope.setdefault("state", {})["error"] = CALLER_LEFT
            return Response(status_code=CLOSED_BY_CALLER)
        except Exception as error:
            log.exception("%s %s failed", request.method, self._path)
            return self.refuse(self.failure(error), request, row)

    @abstractmethod
    async def answer(self, row: Row, request: Request) -> Response:
        """What the row answers; errors may be raised."""

    @abstractmethod
    def refuse(self, error: CommonplaceError, request: Request, row: Row | None) -> Response:
        """An error as whoever calls here reads it; `row` is None if nothing here answers the method."""

    def failure(self, error: Exception) -> CommonplaceError:
        """What a fault of ours is called."""
        return CommonplaceError(f"The call failed: {type(error).__name__}.")

    def wrong_method_hint(self) -> str:
        return f"There is {self._allow}."


def key_of(request: Request) -> Key | None:
    """The caller's key, if they showed one that works."""
    return cast(Key | None, request.scope.setdefault("state", {}).get("key"))


def memory_of(request: Request) -> LocalMemory:
    """The memory that the caller's key opens."""
    return cast(LocalMemory, request.scope["state"].get("memory"))
