"""How the site says no: the error as JSON, the same on every route."""

from __future__ import annotations

from starlette.responses import JSONResponse

from commonplace.errors import CommonplaceError, RateLimited, Unauthorized


def refusal(error: CommonplaceError, status: int | None = None) -> JSONResponse:
    """A response that tells the error, with the headers that belong to it."""
    code = status or error.http_status
    headers = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, RateLimited):
        headers["Retry-After"] = str(error.retry_after)
    told = {"code": error.code, "message": error.message, "details": error.hint}
    return JSONResponse({"error": told, "code": code}, status_code=code, headers=headers)
