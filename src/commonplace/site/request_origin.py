"""Where a request comes from: foreign Host and Origin headers are refused, and trusted proxies name the real caller."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from commonplace.config import Settings, listed
from commonplace.errors import Forbidden, InvalidInput
from commonplace.http_responses import error_response

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MISDIRECTED = 421

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


class HostCheck:
    """Accepts requests to one of our host names and, from web pages, only those of our own."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._names = {*LOOPBACK, *(_host_name(host) for host in listed(settings.allowed_hosts))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if not self._ours(headers.getlist("host")):
                error = Forbidden(
                    "The Host header names another server.", "Add its name to the setting allowed_hosts if it is ours."
                )
                await error_response(error, MISDIRECTED)(scope, receive, send)
                return
            if origins := headers.getlist("origin"):
                pages = [_ORIGIN.fullmatch(origin.lower()) for origin in origins]
                if not self._ours([page[1] if page else "" for page in pages]):
                    error = Forbidden("Pages from other sites cannot call.", "Call from a program, without Origin.")
                    await error_response(error)(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _ours(self, hosts: list[str]) -> bool:
        return len(hosts) == 1 and _host_name(hosts[0]) in self._names


def _host_name(host: str) -> str:
    """A host without its port; empty if it is not one."""
    match = _HOST.fullmatch(host.strip().lower())
    return match[1] if match else ""


UNKNOWN_ADDRESS = "unknown"


class TrustedProxies:
    """The proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""

    def __init__(self, trusted: str) -> None:
        try:
            self._networks = tuple(ip_network(entry, strict=False) for entry in listed(trusted))
        except ValueError as error:
            raise InvalidInput(
                f"Setting trusted_proxies is wrong: {error}.", "List addresses or networks, such as 10.0.0.0/8."
            ) from error

    def caller(self, scope: Scope, headers: Headers) -> str:
        """The nearest address that is not a trusted proxy."""
        client = scope.get("client")
        address = str(client[0]) if client else UNKNOWN_ADDRESS
        if not self._networks:
            return address
        forwarded = [entry for value in headers.getlist("x-forwarded-for") for entry in listed(value)]
        while forwarded and self._is_trusted(address):
            address = forwarded.pop()
        return address

    def scheme(self, scope: Scope, headers: Headers) -> str:
        """`http`, or `https` if a trusted proxy says so."""
        client = scope.get("client")
        if client and self._is_trusted(str(client[0])) and headers.get("x-forwarded-proto", "").strip() == "https":
            return "https"
        return str(scope["scheme"])

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed: IPv4Address | IPv6Address = ip_address(address.strip("[]"))
        except ValueError:
            return False
        mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
        return any((mapped or parsed) in network for network in self._networks)
