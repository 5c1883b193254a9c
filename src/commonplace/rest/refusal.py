"""How the site says no: an error as JSON, the same on every route."""

from __future__ import annotations

import json

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from commonplace.errors import CommonplaceError, RateLimited, StoreBusy, Unauthorized
from commonplace.text.redacted_data import redacted

JSON = "application/json"
# Seconds after which another try may find the store free.
_BUSY = "1"


class Refusal(Response):
    """Notes the code of its error in the state of the request, for those who count and tell what became of it."""

    error = CommonplaceError.code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["error"] = self.error
        await super().__call__(scope, receive, send)


def refusal(error: CommonplaceError, status: int | None = None) -> Response:
    """A response that tells the error, with the headers that belong to it."""
    headers = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, (RateLimited, StoreBusy)):
        headers["Retry-After"] = str(error.retry_after) if isinstance(error, RateLimited) else _BUSY
    status = status or error.http_status
    response = Refusal(error_bytes(error, status), status, headers, JSON)
    response.error = error.code
    return response


def error_bytes(error: CommonplaceError, status: int) -> bytes:
    told = {"code": error.code, "message": error.message, "details": error.hint}
    return as_bytes(redacted({"error": told, "code": status}))


def as_bytes(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
