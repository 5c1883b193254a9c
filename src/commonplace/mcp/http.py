"""The protocol over HTTP: its route, and how it lives. Who may call, from where and how much is for the server to say.

`/mcp?profile=core` offers the tools of a profile to one client, where the server's own setting is `all`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NoReturn

import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.config import PROFILES, Settings
from commonplace.errors import CommonplaceError, Unauthorized
from commonplace.mcp.jsonrpc import check_message, error_for_message
from commonplace.mcp.plain_requests import PlainRequests
from commonplace.mcp.server import MEMORIES_PATH, build_http_server
from commonplace.worker_threads import Workers

# Longer messages are checked in a thread, so that others need not wait.
LONG = 1 << 20


@dataclass(frozen=True, slots=True)
class McpRoutes:
    """Routes for an application, to be called only while `running` is entered."""

    routes: list[BaseRoute]
    running: Callable[[], AbstractAsyncContextManager[None]]


def mcp_routes(settings: Settings, workers: Workers) -> McpRoutes:
    """The tools of the profile at /mcp, each call on the memory in its request's state."""
    # A server that was given a profile offers that one to everybody.
    names = PROFILES if settings.profile == "all" else (settings.profile,)
    servers = {name: build_http_server(_no_caller, name, workers) for name in names}
    return routes_for_servers(servers, settings.profile, settings)


def routes_for_servers(
    servers: Mapping[str, tuple[Server[Any], PlainRequests | None]], usual: str, settings: Settings
) -> McpRoutes:
    """Servers at /mcp, by their profiles: each request stands alone and is answered by one JSON document.

    The same are at /api/mcp, where memories.sh's SDK looks for them.
    """
    routes = {
        name: [(route.path, BoundedBody(route.endpoint, plain)) for route in _routes(server, settings)]
        for name, (server, plain) in servers.items()
    }

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for server, _plain in servers.values():
                await stack.enter_async_context(server.session_manager.run())
            yield

    # The server sends nothing unasked and has no sessions, so that only POST is there.
    return McpRoutes(
        [
            Route(
                path,
                _ByProfile({name: those[place][1] for name, those in routes.items()}, usual),
                methods=["POST"],
            )
            for place, (usual_path, _app) in enumerate(routes[usual])
            for path in (usual_path, MEMORIES_PATH)
        ],
        running,
    )


def _routes(server: Server[Any], settings: Settings) -> Iterator[Route]:
    app = server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=settings.max_body_mb * 1024 * 1024,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    yield from (route for route in app.routes if isinstance(route, Route))


class _ByProfile:
    """Hands a request to the server of the profile that its address names."""

    def __init__(self, servers: Mapping[str, ASGIApp], usual: str) -> None:
        self._servers, self._usual = servers, usual

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._usual
        if len(self._servers) > 1 and scope["query_string"]:
            name = Request(scope).query_params.get("profile") or name
        if name not in self._servers:
            raise HTTPException(400, f"There is no profile {name[:60]!r}, only {', '.join(self._servers)}")
        await self._servers[name](scope, receive, send)


class BoundedBody:
    """Reads a whole message, refuses one that would become too many objects, and answers it or passes it on."""

    def __init__(self, app: ASGIApp, plain: PlainRequests | None) -> None:
        self._app, self._plain = app, plain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        # Taken by whoever asks first, so that it is not held here as well.
        whole = [bytes(body)]
        del body
        try:
            if len(whole[0]) > LONG:
                await anyio.to_thread.run_sync(check_message, whole[0])
            else:
                check_message(whole[0])
        except CommonplaceError as error:
            refusal = error_for_message(whole[0], error).model_dump_json(by_alias=True)
            await Response(refusal, error.http_status, media_type="application/json")(scope, receive, send)
            return
        request = Request(scope)
        if self._plain is not None and (asked := self._plain.parse(request, whole[0])) is not None:
            if self._plain.can_answer(asked):
                whole.clear()
                response = await self._plain.answer(request, asked)
                await response(scope, receive, send)
                return
            send = self._plain.remember_answer(asked, send)

        async def again() -> Message:
            return {"type": "http.request", "body": whole.pop(), "more_body": False} if whole else await receive()

        await self._app(scope, again, send)


def _no_caller() -> NoReturn:
    raise Unauthorized("Nobody said whose call this is.")
