"""Ask a server for its tools as an editor would: started as a process or called at its address, with a deadline.

The few messages of the protocol are written out here, so that our server is tested and not a library.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import commonplace
from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.http_client import error_reason, split_url
from commonplace.text.untrusted_json import MAX_VALUES_OF_MANY, check_json

# Some editors do not wait longer either.
SECONDS = 20.0
# How long a server may take to end.
_END_SECONDS = 5.0
_MAX_BYTES = 10_000_000
_VERSION = "2025-06-18"
_HELLO = {
    "protocolVersion": _VERSION,
    "capabilities": {},
    "clientInfo": {"name": "commonplace-doctor", "version": commonplace.__version__},
}

Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Sends a request of a method with parameters, and returns its result."""


class ProbeFailed(Exception):
    """Why the server did not answer as it should."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The answer of a server. `why` is empty if it listed its tools."""

    why: str
    tools: tuple[str, ...] = ()
    version: str = ""
    seconds: float = 0.0


def probe_process(command: Sequence[str], env: Mapping[str, str], seconds: float = SECONDS) -> ProbeResult:
    """Start a server as an editor does, ask it, and end it."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as stderr:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env={**os.environ, **env}
            )
        except OSError as error:
            return ProbeResult(f"it cannot be started: {error.strerror or error}")
        try:
            return _list_tools(_StdioClient(process, began + seconds).ask, began)
        except ProbeFailed as error:
            return ProbeResult(f"{error}{_last_stderr_line(stderr)}", seconds=time.monotonic() - began)
        finally:
            _end(process)


def probe_url(url: str, headers: Mapping[str, str], seconds: float = SECONDS) -> ProbeResult:
    """Call a running server."""
    began = time.monotonic()
    try:
        return _list_tools(_HttpClient(url, headers, seconds).ask, began)
    except ProbeFailed as error:
        return ProbeResult(str(error), seconds=time.monotonic() - began)


def _list_tools(ask: Ask, began: float) -> ProbeResult:
    server = ask("initialize", _HELLO).get("serverInfo")
    ask("notifications/initialized", {})
    tools = ask("tools/list", {}).get("tools")
    if not isinstance(server, dict) or not isinstance(tools, list):
        raise ProbeFailed("its answer does not come from an MCP server")
    names = tuple(str(tool.get("name")) for tool in tools if isinstance(tool, dict))
    return ProbeResult("", names, str(server.get("version") or ""), time.monotonic() - began)


def _request(method: str, parameters: Mapping[str, Any], number: int) -> dict[str, Any]:
    request: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": dict(parameters)}
    return request if method.startswith("notifications/") else request | {"id": number}


def _result(message: Mapping[str, Any]) -> Mapping[str, Any]:
    result = message.get("result")
    if not isinstance(result, dict):
        raise ProbeFailed(f"it refuses: {json.dumps(message.get('error'))[:200]}")
    return result


class _StdioClient:
    """Messages to and from a process, one per line. A thread reads, so that waiting has a deadline."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        self._process, self._deadline, self._number = process, deadline, 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._process.stdin is not None
        self._number += 1
        request = _request(method, parameters, self._number)
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise ProbeFailed("it stopped at once") from error
        return {} if "id" not in request else _result(self._answer(self._number))

    def _answer(self, number: int) -> Mapping[str, Any]:
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
            except queue.Empty:
                raise ProbeFailed("it does not answer in time") from None
            if not line:
                raise ProbeFailed("it stopped without an answer")
            message = _object(line)
            if message.get("id") == number:
                return message

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while line := self._process.stdout.readline(_MAX_BYTES):
                self._lines.put(line)
        self._lines.put(b"")


class _HttpClient:
    """Messages to and from an address."""

    def __init__(self, url: str, headers: Mapping[str, str], seconds: float) -> None:
        try:
            self._address, parts = split_url(url, "The address", "", "")
        except InvalidInput as error:
            raise ProbeFailed(f"{url} is not an address") from error
        self._url, self._path = url, parts.path or "/"
        self._headers, self._seconds = dict(headers), seconds
        self._number = 0

    def ask(self, method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        self._number += 1
        request = _request(method, parameters, self._number)
        connection = self._address.connect(self._seconds)
        try:
            connection.request("POST", self._path, json.dumps(request), self._request_headers())
            answer = connection.getresponse()
            body = answer.read(_MAX_BYTES)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "strerror", None) or error_reason(error)
            raise ProbeFailed(f"nothing answers at {self._url}: {reason}") from error
        finally:
            connection.close()
        if answer.status in (401, 403):
            raise ProbeFailed(f"it refuses the key ({answer.status})")
        if answer.status >= 400:
            raise ProbeFailed(f"it answers with {answer.status}")
        self._headers |= {"Mcp-Session-Id": session} if (session := answer.getheader("Mcp-Session-Id")) else {}
        if "id" not in request:
            return {}
        for message in _messages(body):
            if message.get("id") == self._number:
                return _result(message)
        raise ProbeFailed("its answer does not come from an MCP server")

    def _request_headers(self) -> dict[str, str]:
        accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        return accepted | {"MCP-Protocol-Version": _VERSION} | self._headers


def _messages(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The messages of an answer: one as JSON, or some as events."""
    if not body.lstrip().startswith((b"event:", b"data:", b"id:", b":")):
        yield _object(body)
        return
    for line in body.splitlines():
        if line.startswith(b"data:") and line[5:].strip():
            yield _object(line[5:])


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        check_json(text, MAX_VALUES_OF_MANY)
        message = json.loads(text)
    except (ValueError, RecursionError, CommonplaceError):
        message = None
    if not isinstance(message, dict):
        raise ProbeFailed(f"it says {text[:80].decode('utf-8', 'replace').strip()!r}, which no editor understands")
    return message


def _last_stderr_line(stderr: IO[bytes]) -> str:
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - 2000))
    lines = stderr.read().decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let the process end by itself, or else kill it."""
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    with contextlib.suppress(OSError):
        process.stdout.close()
