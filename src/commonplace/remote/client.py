"""A server at an address, asked over HTTP with a key. Redirects are never followed: the key goes where it was meant."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from commonplace.errors import (
    CommonplaceError,
    Conflict,
    Forbidden,
    InvalidInput,
    QuotaExceeded,
    RemoteError,
    TooLarge,
    Unauthorized,
)
from commonplace.input_limits import check_json, unpack_gzip, unpacked_for, values_for
from commonplace.memory.sync_records import RECORD_FORMAT, Name, parse_record_name

API = "/api/v1/sync"
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
_KEY_HINT = "Set remote_key or COMMONPLACE_REMOTE_KEY; `commonplace keys create NAME` on the server makes one."
# What another server refuses is refused here in the same words.
_REFUSALS: tuple[type[CommonplaceError], ...] = (InvalidInput, Conflict, TooLarge, QuotaExceeded)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is."""

    secure: bool
    host: str
    port: int | None
    path: str

    @property
    def place(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.secure else 'http'}://{host}{port}{self.path}"

    @property
    def is_open(self) -> bool:
        """Whether others on the way can read what is sent."""
        return not self.secure and self.host not in ("localhost", "127.0.0.1", "::1")


def parse_address(url: str) -> Address:
    """An address as a person writes it, with or without what follows the host."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"The server's address is not a URL: {error}.", _URL_HINT) from error
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInput("The server's address must be an http:// or https:// URL with a host.", _URL_HINT)
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("The server's address must not hold a password.", _KEY_HINT)
    path = quote(parts.path.rstrip("/").removesuffix("/api/v1").removesuffix("/mcp"), safe="/%")
    return Address(parts.scheme == "https", host, port, path)


class RemoteServer:
    """A space of another Commonplace: the one that the key opens."""

    def __init__(self, url: str, key: str, timeout: float = 60.0) -> None:
        if not key:
            raise InvalidInput("There is no key to the server.", _KEY_HINT)
        if not (key.isascii() and key.isprintable()):
            raise InvalidInput("The key has characters that no key has.", _KEY_HINT)
        self.address = parse_address(url)
        self._key, self._timeout = key, timeout
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def standing(self) -> tuple[str, int]:
        reply = self._asked("GET", "")
        if reply.get("format") != RECORD_FORMAT:
            raise RemoteError(
                f"The server at {self.address.place} tells records in another way ({reply.get('format')!r}).",
                "Upgrade Commonplace on the older of the two machines.",
            )
        with self._making_sense():
            return str(reply["space"]), int(reply["last"])

    def changes(self, since: int, limit: int, projects: Sequence[str]) -> tuple[dict[Name, str], int]:
        query = urlencode([("since", since), ("limit", limit), *(("project", project) for project in projects)])
        reply = self._asked("GET", f"/changes?{query}")
        with self._making_sense():
            digests = {parse_record_name(one["what"], one["name"]): str(one["digest"]) for one in reply["changes"]}
            return digests, int(reply["mark"])

    def compare(self, digests: Mapping[Name, str]) -> list[Name]:
        told = [{"what": what, "name": name, "digest": digest} for (what, name), digest in digests.items()]
        reply = self._asked("POST", "/compare", {"changes": told})
        with self._making_sense():
            return [parse_record_name(one["what"], one["name"]) for one in reply["differing"]]

    def fetch(self, names: Sequence[Name]) -> list[dict[str, Any]]:
        reply = self._asked("POST", "/fetch", {"names": [{"what": what, "name": name} for what, name in names]})
        with self._making_sense():
            return list(map(dict, reply["records"]))

    def send(self, told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        reply = self._asked("POST", "/records", {"records": told})
        with self._making_sense():
            outcomes = list(map(dict, reply["outcomes"]))
            if len(outcomes) != len(told):
                raise ValueError
            return outcomes

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the server says. Everything can be asked twice, so a line that broke is tried again."""
        raw = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        for tried in range(1, TRIES + 1):
            try:
                status, wait, said = self._exchanged(method, path, raw)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if tried == TRIES or isinstance(error, ConnectionRefusedError):
                    raise self._away(error) from error
                wait = 0.5 * tried
            else:
                if status == 200:
                    return self._read(said)
                if status not in RETRY_STATUSES or tried == TRIES:
                    raise self._refused(status, said)
            time.sleep(min(wait, 30.0))
        raise AssertionError

    def _exchanged(self, method: str, path: str, raw: bytes | None) -> tuple[int, float, bytes]:
        """Status, seconds to wait if it is asked again, and what was said."""
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json", "Accept-Encoding": "gzip"}
        if raw is not None:
            headers["Content-Type"] = "application/json"
            if len(raw) >= PACKED_FROM:
                packed = gzip.compress(raw, 5)
                # A server refuses what unpacks to a multiple of its size.
                if len(raw) <= unpacked_for(len(packed)):
                    raw, headers["Content-Encoding"] = packed, "gzip"
        if self._connection is None:
            kind = http.client.HTTPSConnection if self.address.secure else http.client.HTTPConnection
            self._connection = kind(self.address.host, self.address.port, timeout=self._timeout)
        self._connection.request(method, f"{self.address.path}{API}{path}", raw, headers)
        response = self._connection.getresponse()
        try:
            said = self._received(response)
        except CommonplaceError as error:
            # The rest of the reply is still on its way.
            self.close()
            raise self._strange(f"{error.message[0].lower()}{error.message[1:].rstrip('.')}") from error
        after = response.headers.get("Retry-After", "1")
        return response.status, float(after) if after.isdecimal() else 1.0, said

    def _received(self, response: http.client.HTTPResponse) -> bytes:
        """The reply, unpacked: as much as can be held."""
        said = response.read(MAX_REPLY_BYTES + 1)
        if len(said) > MAX_REPLY_BYTES:
            raise TooLarge(f"Its reply has more than {MAX_REPLY_BYTES >> 20} MB.")
        if response.length:
            raise http.client.IncompleteRead(said, response.length)
        if response.headers.get("Content-Encoding") == "gzip":
            most = min(MAX_REPLY_BYTES, MAX_UNPACKED + UNPACKED_PER_BYTE * len(said))
            said = unpack_gzip(said, most, "Its reply")
        return said

    @contextlib.contextmanager
    def _making_sense(self) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, ValueError, InvalidInput) as error:
            raise self._strange("its reply makes no sense") from error

    def _read(self, said: bytes) -> dict[str, Any]:
        try:
            check_json(said, values_for(len(said)))
            reply = json.loads(said)
        except TooLarge as error:
            raise self._strange("its reply holds too many values") from error
        except (ValueError, RecursionError, InvalidInput) as error:
            deep = isinstance(error, (RecursionError, InvalidInput))
            raise self._strange("its reply is nested too deeply" if deep else "its reply is no JSON") from error
        if not isinstance(reply, dict):
            raise self._strange("its reply is no object")
        return reply

    def _refused(self, status: int, said: bytes) -> CommonplaceError:
        place = self.address.place
        if 300 <= status < 400:
            return RemoteError(f"The server at {place} sends callers elsewhere (HTTP {status}).", _URL_HINT)
        try:
            told = json.loads(said[:MAX_REFUSAL_BYTES])["error"]
            code, message, details = str(told["code"]), str(told["message"]), str(told["details"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return self._strange(f"it answers HTTP {status}")
        if status == 401:
            return Unauthorized(f"The server at {place} does not know this key.", _KEY_HINT)
        if status == 403:
            return Forbidden(f"The server at {place} does not let this key do that: {message}", details)
        if status in (404, 405):
            return RemoteError(f"The server at {place} does not know how to sync.", "Upgrade Commonplace there.")
        for refusal in _REFUSALS:
            if code == refusal.code:
                return refusal(f"The server at {place} refused: {message}", details)
        return RemoteError(f"The server at {place} failed (HTTP {status}): {message}", details)

    def _away(self, error: Exception) -> RemoteError:
        why = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        return RemoteError(f"The server at {self.address.place} cannot be reached: {why}.")

    def _strange(self, why: str) -> RemoteError:
        return RemoteError(f"What answers at {self.address.place} is not Commonplace: {why}.", _URL_HINT)
