"""The address of another HTTP server as a person writes it, and connections to it. Redirects are never followed."""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from commonplace.errors import InvalidInput

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where a server is, and the path of what is called there."""

    secure: bool
    host: str
    port: int | None
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.path}"

    @property
    def is_unencrypted(self) -> bool:
        """Whether others on the way can read what is sent."""
        return not self.secure and self.host not in _THIS_MACHINE

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        """A connection, which is opened by its first request."""
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        return kind(self.host, self.port, timeout=timeout)


def split_url(url: str, what: str, hint: str, password_hint: str) -> tuple[HttpAddress, SplitResult]:
    """The server of a URL, and all parts of the URL; InvalidInput, which calls it `what`, for anything else."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"{what} is not a URL: {error}.", hint) from error
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInput(f"{what} must be an http:// or https:// URL with a host.", hint)
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(f"{what} must not contain a password.", password_hint)
    return HttpAddress(parts.scheme == "https", host, port, ""), parts


def error_reason(error: Exception) -> str:
    """Why a call failed, in one short line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
