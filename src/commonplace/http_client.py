"""Calls of other HTTP servers: the address as a person writes it, connections, and the client for another Commonplace.

Redirects are never followed: the key goes where it was meant.

It is built on `http.client`. httpx2, which the MCP SDK brings, would replace its connections, but takes 174 ms of
processor time to import and open a client, where this module takes 69 (medians of 21 starts each); hooks that ask a
team's server, `commonplace sync` and remote memories would all start that much later.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import select
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from commonplace import errors
from commonplace.errors import (
    CommonplaceError,
    InvalidInput,
    RemoteError,
    TooLarge,
    Unauthorized,
)
from commonplace.text.untrusted_json import check_json, unpack_gzip, unpacked_for, values_for

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


MAX_REPLY_BYTES = 256 << 20
# What a packed reply may unpack to: always this, and more if it is large itself.
MAX_UNPACKED, UNPACKED_PER_BYTE = 32 << 20, 10
# The bytes of a refusal that are read.
MAX_REFUSAL_BYTES = 1 << 16
# Shorter bodies are not worth packing.
PACKED_FROM = 1_000
TRIES = 4
# Somebody else writes, or we were too quick: the same again in a moment.
RETRY_STATUSES = frozenset({429, 502, 503, 504})
_URL_HINT = "Write it like https://memory.example.org: set remote_url, or give --to."
_KEY_HINT = "Set remote_key or COMMONPLACE_REMOTE_KEY; `commonplace keys create NAME` on the server creates one."


def parse_address(url: str) -> HttpAddress:
    """An address as a person writes it, with or without what follows the host."""
    server, parts = split_url(url, "The server's address", _URL_HINT, _KEY_HINT)
    return replace(server, path=quote(parts.path.rstrip("/").removesuffix("/api/v1").removesuffix("/mcp"), safe="/%"))


class HttpClient:
    """A server that is asked for JSON. Any number of threads may use it at once."""

    def __init__(self, url: str, key: str, timeout: float = 60.0, tries: int = TRIES) -> None:
        if not key:
            raise InvalidInput("There is no key to the server.", _KEY_HINT)
        if not (key.isascii() and key.isprintable()):
            raise InvalidInput("The key has characters that keys never have.", _KEY_HINT)
        self.address = parse_address(url)
        self._key, self._timeout, self._tries = key, timeout, tries
        # Connections that nobody uses at the moment.
        self._idle: list[http.client.HTTPConnection] = []

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The reply to a request, which must be one that can be sent twice: a broken connection is tried again."""
        raw = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        for attempt in range(1, self._tries + 1):
            try:
                status, wait, reply = self._exchange(method, path, raw, headers or {})
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if attempt == self._tries or isinstance(error, ConnectionRefusedError):
                    raise self._unreachable(error) from error
                wait = 0.5 * attempt
            else:
                if 200 <= status < 300:
                    return self._parse(reply)
                if status not in RETRY_STATUSES or attempt == self._tries:
                    raise self._refusal(status, reply)
            time.sleep(min(wait, 30.0))
        raise AssertionError

    @contextlib.contextmanager
    def reading_reply(self) -> Iterator[None]:
        """For whoever takes a reply apart: one without the right fields is none of Commonplace."""
        try:
            yield
        except (KeyError, TypeError, ValueError, InvalidInput) as error:
            raise self.not_commonplace("its reply makes no sense") from error

    def refused(self, status: int, code: str, message: str, details: str) -> CommonplaceError:
        """The error that a refusal of the server stands for: the same as it would be without a server between."""
        known = {error.code: error for error in _all_errors(CommonplaceError) if error.__module__ == errors.__name__}
        return known.get(code, RemoteError)(message, details)

    def not_commonplace(self, why: str) -> RemoteError:
        return RemoteError(f"What answers at {self.address.url} is not Commonplace: {why}.", _URL_HINT)

    def _exchange(self, method: str, path: str, raw: bytes | None, more: Mapping[str, str]) -> tuple[int, float, bytes]:
        """The status, the seconds to wait before it is asked again, and the body of the reply."""
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", "Accept-Encoding": "gzip"}
        headers |= more
        if raw is not None:
            headers["Content-Type"] = "application/json"
            if len(raw) >= PACKED_FROM:
                packed = gzip.compress(raw, 5)
                # A server refuses what unpacks to a multiple of its size.
                if len(raw) <= unpacked_for(len(packed)):
                    raw, headers["Content-Encoding"] = packed, "gzip"
        connection = self._connect()
        try:
            connection.request(method, f"{self.address.path}{path}", raw, headers)
            response = connection.getresponse()
            reply = _read_body(response)
        except CommonplaceError as error:
            # The rest of the reply is still on its way.
            connection.close()
            raise self.not_commonplace(f"{error.message[0].lower()}{error.message[1:].rstrip('.')}") from error
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        after = response.headers.get("Retry-After", "1")
        return response.status, float(after) if after.isdecimal() else 1.0, reply

    def _connect(self) -> http.client.HTTPConnection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self.address.connect(self._timeout)
            if not _was_closed(connection):
                return connection
            connection.close()

    def _parse(self, raw: bytes) -> dict[str, Any]:
        try:
            check_json(raw, values_for(len(raw)))
            reply = json.loads(raw)
        except TooLarge as error:
            raise self.not_commonplace("its reply has too many values") from error
        except (ValueError, RecursionError, InvalidInput) as error:
            deep = isinstance(error, (RecursionError, InvalidInput))
            raise self.not_commonplace("its reply is nested too deeply" if deep else "its reply is not JSON") from error
        if not isinstance(reply, dict):
            raise self.not_commonplace("its reply is not an object")
        return reply

    def _refusal(self, status: int, raw: bytes) -> CommonplaceError:
        place = self.address.url
        if 300 <= status < 400:
            return RemoteError(f"The server at {place} redirects (HTTP {status}).", _URL_HINT)
        try:
            error = json.loads(raw[:MAX_REFUSAL_BYTES])["error"]
            code, message, details = str(error["code"]), str(error["message"]), str(error["details"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return self.not_commonplace(f"it answers HTTP {status}")
        if status == 401:
            return Unauthorized(f"The server at {place} does not know this key.", _KEY_HINT)
        return self.refused(status, code, message, details)

    def _unreachable(self, error: Exception) -> RemoteError:
        return RemoteError(f"The server at {self.address.url} cannot be reached: {error_reason(error)}.")


def _was_closed(connection: http.client.HTTPConnection) -> bool:
    """Whether the server closed a connection that nobody used for a while: then there is something to read."""
    try:
        return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _all_errors(error: type[CommonplaceError]) -> Iterator[type[CommonplaceError]]:
    """An error and those below it that are in `errors`; what a door derives from them is its own."""
    yield error
    for one in error.__subclasses__():
        if one.__module__ == CommonplaceError.__module__:
            yield from _all_errors(one)


def _read_body(response: http.client.HTTPResponse) -> bytes:
    """The body of a reply, unpacked: as much as can be held."""
    raw = response.read(MAX_REPLY_BYTES + 1)
    if len(raw) > MAX_REPLY_BYTES:
        raise TooLarge(f"Its reply has more than {MAX_REPLY_BYTES >> 20} MB.")
    if response.length:
        raise http.client.IncompleteRead(raw, response.length)
    if response.headers.get("Content-Encoding") == "gzip":
        most = min(MAX_REPLY_BYTES, MAX_UNPACKED + UNPACKED_PER_BYTE * len(raw))
        raw = unpack_gzip(raw, most, "Its reply")
    return raw
