"""Who calls: the key of each request, or the visit of a person to our pages; whoever has neither is refused.

The cookie of a visit opens pages, and a key opens everything: a token in the place of a key is an unknown key.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreError
from commonplace.rest.refusal import refusal
from commonplace.site.addresses import Proxies
from commonplace.site.callers import Callers
from commonplace.web.cookies import visit_of

# What anybody may read: these, and what is below the trees.
PUBLIC = ("/", "/health", "/api/v1/openapi.json")
# Clients look below /.well-known for a way to sign in that we do not have: they have to be told that there is none.
PUBLIC_TREES = ("/api/v1/docs", "/.well-known", "/mcp/.well-known")
SERVICE_UNAVAILABLE = 503


class Who:
    """Puts `key`, `book`, `address` and how to `recheck` the key into the state of each request, or refuses it.

    `by_visit` says that the key is that of a visit, known by its cookie.

    `is_page` tells which paths are for people, also by what the caller can read: there a visit counts, and whoever has
    none is let through, to sign in.
    """

    def __init__(self, app: ASGIApp, callers: Callers, settings: Settings, is_page: Callable[[str, str], bool]) -> None:
        self._app, self._callers, self._is_page = app, callers, is_page
        self._proxies = Proxies(settings.trusted_proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            state = scope.setdefault("state", {})
            state["address"] = self._proxies.caller(scope, headers)
            scope["scheme"] = self._proxies.scheme(scope, headers)
            page = self._is_page(scope["path"], headers.get("accept", ""))
            try:
                secret = _secret(headers)
                state["by_visit"] = page and not secret
                if state["by_visit"]:
                    caller = await self._callers.caller(visit_of(HTTPConnection(scope)), state["address"], "visit")
                else:
                    caller = await self._callers.caller(secret, state["address"])
                state["key"], state["book"], state["recheck"] = caller.key, caller.book, caller.recheck
                if (connection := state.get("connection")) is not None:
                    connection.authenticated = True
            except CommonplaceError as error:
                state["refused"] = error
                if not page and not is_public(scope["path"]):
                    # Without its store the server knows nobody; that is no fault of the caller.
                    status = SERVICE_UNAVAILABLE if isinstance(error, StoreError) else None
                    await refusal(error, status)(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def is_public(path: str) -> bool:
    return path in PUBLIC or any(path == tree or path.startswith(tree + "/") for tree in PUBLIC_TREES)


def _secret(headers: Headers) -> str:
    scheme, _, secret = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return secret.strip()
    return headers.get("x-api-key", "").strip()
