"""The address `/`: the first page for people, and where to go for programs."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

WELCOME = """\
Commonplace is running.

Agents:    {address}/mcp     (Model Context Protocol, streamable HTTP)
Programs:  {address}/api/v1  (REST; try it at {address}/api/v1/docs)
Health:    {address}/health
People:    {address}/        (in a browser), or commonplace --help

Calls need a key: Authorization: Bearer <key>. `commonplace keys create NAME` makes one.
"""


class Front:
    """One address for both: a browser says that it reads HTML."""

    def __init__(self, pages: Sequence[BaseRoute]) -> None:
        self._home = next(page.app for page in pages if isinstance(page, Route) and page.path == "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if "text/html" in request.headers.get("accept", "") or request.method not in ("GET", "HEAD"):
            await self._home(scope, receive, send)
            return
        welcome = WELCOME.format(address=str(request.base_url).rstrip("/"))
        await PlainTextResponse(welcome, headers={"Vary": "Accept"})(scope, receive, send)
