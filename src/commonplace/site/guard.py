"""Which names the site answers to: foreign Host and Origin headers are refused, so that no web page reaches it."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings, listed
from commonplace.errors import Forbidden
from commonplace.rest.refusal import refusal

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MISDIRECTED = 421

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


class Guard:
    """Lets in what was sent to one of our names, and from one of our pages if from a page."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = {*LOOPBACK, *(_name(host) for host in listed(settings.allowed_hosts))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if not self._ours(headers.getlist("host")):
                error = Forbidden(
                    "The Host header names another server.", "Add its name to the setting allowed_hosts if it is ours."
                )
                await refusal(error, MISDIRECTED)(scope, receive, send)
                return
            if origins := headers.getlist("origin"):
                pages = [_ORIGIN.fullmatch(origin.lower()) for origin in origins]
                if not self._ours([page[1] if page else "" for page in pages]):
                    error = Forbidden("Pages of other sites may not call.", "Call from a program, without Origin.")
                    await refusal(error)(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _ours(self, hosts: list[str]) -> bool:
        return len(hosts) == 1 and _name(hosts[0]) in self._names


def _name(host: str) -> str:
    """A host without its port; empty if it is none."""
    match = _HOST.fullmatch(host.strip().lower())
    return match[1] if match else ""
