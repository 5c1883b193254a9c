"""The protocol over HTTP: its route, and how it lives. Who may call, from where and how much is for the site to say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NoReturn

import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, Unauthorized
from commonplace.mcp.lines import check_message, refusal_of
from commonplace.mcp.server import build
from commonplace.workers import Workers

# Bytes of a message that are checked beside the other work of the server, not in its midst.
LONG = 1 << 20


@dataclass(frozen=True, slots=True)
class Protocol:
    """Routes for an application, to be called only while `running` is entered."""

    routes: list[BaseRoute]
    running: Callable[[], AbstractAsyncContextManager[None]]


def protocol(settings: Settings, workers: Workers) -> Protocol:
    """The tools of the profile at /mcp, each call on the book in its request's state."""
    return over_http(build(_nobody, settings.profile, workers, one_caller=False), settings)


def over_http(server: Server[Any], settings: Settings) -> Protocol:
    """A server at /mcp: each request stands alone and is answered by one JSON document."""
    app = server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=settings.max_body_mb * 1024 * 1024,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    # Nothing is ever said unasked, so nobody is let wait for it, and there are no sessions to end.
    routes: list[BaseRoute] = [
        Route(route.path, BoundedBody(route.endpoint), methods=["POST"])
        for route in app.routes
        if isinstance(route, Route)
    ]
    return Protocol(routes, server.session_manager.run)


class BoundedBody:
    """Reads a whole message, and passes it on unless it would become too many objects once it is parsed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

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
            told = refusal_of(whole[0], error).model_dump_json(by_alias=True)
            await Response(told, error.http_status, media_type="application/json")(scope, receive, send)
            return

        async def again() -> Message:
            return {"type": "http.request", "body": whole.pop(), "more_body": False} if whole else await receive()

        await self._app(scope, again, send)


def _nobody() -> NoReturn:
    raise Unauthorized("Nobody said whose call this is.")
