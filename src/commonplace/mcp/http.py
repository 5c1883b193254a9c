"""The HTTP transport: /mcp for agents and /health for people and scripts, on the loopback interface only."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator

import uvicorn
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.mcp.server import build
from commonplace.memory.book import Book, open_book
from commonplace.memory.status import status
from commonplace.workers import Workers

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
GRACE_SECONDS = 5
# Roomy, so that what is too large for a tool is refused by that tool, in words.
MAX_BODY_BYTES = 32 * 1024 * 1024
GUARD = TransportSecuritySettings(
    enable_dns_rebinding_protection=True,
    allowed_hosts=[*_LOOPBACK, *(f"{host}:*" for host in _LOOPBACK)],
    allowed_origins=[f"http://{host}{port}" for host in _LOOPBACK for port in ("", ":*")],
)


WELCOME = """\
Commonplace is running.

Agents:  {address}/mcp     (Model Context Protocol, streamable HTTP)
Health:  {address}/health
People:  commonplace --help
"""


class HostGuard:
    """Refuses foreign Host and Origin headers on every route, so that no web page can reach the memory."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._check = TransportSecurityMiddleware(GUARD)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = await self._check.validate_request(Request(scope, receive), is_post=False)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def application(book: Book, profile: str) -> ASGIApp:
    """The whole site as one ASGI application."""
    workers = Workers()
    server = build(lambda: book, profile, workers)
    protocol = server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=MAX_BODY_BYTES, transport_security=GUARD
    )

    async def front(request: Request) -> Response:
        return PlainTextResponse(WELCOME.format(address=str(request.base_url).rstrip("/")))

    async def health(_request: Request) -> Response:
        try:
            return JSONResponse({"status": "ok", **await workers.do(lambda: status(book))})
        except CommonplaceError as error:
            body = {"status": "failing", "error": {"code": error.code, "message": error.message, "details": error.hint}}
            return JSONResponse(body, status_code=error.http_status)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        book.meaning.start()
        async with server.session_manager.run():
            yield

    routes = [Route("/", front), Route("/health", health), Mount("/", app=protocol)]
    return HostGuard(Starlette(routes=routes, lifespan=lifespan))


def run(settings: Settings) -> None:
    """Serve until interrupted or terminated, then finish what is being answered and close the store."""
    if not _is_loopback(settings.host):
        raise InvalidInput(
            f"{settings.host!r} is not a loopback address, and there are no keys yet to protect it.",
            "Use 127.0.0.1, ::1 or localhost.",
        )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="commonplace: %(message)s")
    with _listening(settings.host, settings.port) as sock, contextlib.closing(open_book(settings)) as book:
        server = uvicorn.Server(
            uvicorn.Config(
                application(book, settings.profile),
                lifespan="on",
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        # The server stops gracefully on a signal and then raises it again: by then it means "leave", not "die".
        signal.signal(signal.SIGTERM, _leave)
        address = _address(sock)
        sys.stderr.write(f"Commonplace is at {address}/mcp (health: {address}/health). Ctrl-C ends it.\n")
        sys.stderr.flush()
        with contextlib.suppress(KeyboardInterrupt, _Leave):
            server.run(sockets=[sock])


class _Leave(Exception):
    """We were asked to end."""


def _leave(_signal: int, _frame: object) -> None:
    raise _Leave


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host.strip("[]"), port))
        # Bound is not taken: another server may bind as well until one of them listens.
        sock.listen(socket.SOMAXCONN)
    except OSError as error:
        sock.close()
        raise InvalidInput(f"Port {port} cannot be opened: {error.strerror}.", "Choose another port, or 0.") from error
    return sock


def _address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
