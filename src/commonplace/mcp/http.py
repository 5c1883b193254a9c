"""The protocol over HTTP: its route, and how it lives. Who may call, from where and how much is for the site to say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NoReturn

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import BaseRoute, Route

from commonplace.config import Settings
from commonplace.errors import Unauthorized
from commonplace.mcp.server import build
from commonplace.workers import Workers


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
        Route(route.path, route.endpoint, methods=["POST"]) for route in app.routes if isinstance(route, Route)
    ]
    return Protocol(routes, server.session_manager.run)


def _nobody() -> NoReturn:
    raise Unauthorized("Nobody said whose call this is.")
