"""Where a request comes from, and whether over TLS: as its connection has it, or as a proxy that we trust says."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import Scope

from commonplace.config import listed
from commonplace.errors import InvalidInput

UNKNOWN = "unknown"


class Proxies:
    """The proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""

    def __init__(self, trusted: str) -> None:
        try:
            self._networks = tuple(ip_network(entry, strict=False) for entry in listed(trusted))
        except ValueError as error:
            raise InvalidInput(
                f"Setting trusted_proxies is wrong: {error}.", "List addresses or networks, such as 10.0.0.0/8."
            ) from error

    def caller(self, scope: Scope, headers: Headers) -> str:
        """The nearest address that is no proxy of ours."""
        client = scope.get("client")
        address = str(client[0]) if client else UNKNOWN
        if not self._networks:
            return address
        forwarded = [entry for value in headers.getlist("x-forwarded-for") for entry in listed(value)]
        while forwarded and self._is_trusted(address):
            address = forwarded.pop()
        return address

    def scheme(self, scope: Scope, headers: Headers) -> str:
        """By what the caller speaks to the first of ours: `http`, or `https` if a proxy of ours says so."""
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
