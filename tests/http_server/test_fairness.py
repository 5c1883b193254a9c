"""One caller's slow uploads keep nobody else waiting, and end when that caller leaves or the server does."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.http_server.conftest import JSON, bearer, memory_of
from tests.mcp.conftest import DEADLINE, Served
from tests.polling import until

from commonplace.helper_processes import MOST_WAITING_FOR_HELPERS
from commonplace.memory import api_keys

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stops processes that it finds in /proc")

Serve = Callable[..., Served]
TALK = b"User: a\nAI: b\n"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "a"}}}


def helpers_of(server: Served) -> list[int]:
    """The processes that the server has started and that live."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal():
                state, parent = (entry / "stat").read_text("ascii").rpartition(")")[2].split()[:2]
                if int(parent) == server.process.pid and state != "Z":
                    found.append(int(entry.name))
    return found


def has_work(helper: int) -> bool:
    """Whether a helper that is stopped was given something that it has not read."""
    import fcntl
    import termios

    unread = array("i", [0])
    with Path(f"/proc/{helper}/fd/0").open("rb", buffering=0) as given:
        fcntl.ioctl(given, termios.FIONREAD, unread)
    return unread[0] > 0


@contextlib.contextmanager
def uploading(server: Served, secret: str, path: str = "/api/v1/import", body: bytes = TALK) -> Iterator[socket.socket]:
    """A connection over which something was uploaded that is being worked on."""
    parts = urlsplit(server.url)
    assert parts.hostname and parts.port
    kind = "text/plain" if path == "/api/v1/import" else "application/json"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\nContent-Type: {kind}\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((parts.hostname, parts.port), DEADLINE) as sock:
        sock.sendall(head.encode() + body)
        yield sock


@pytest.fixture
def stopped(serve: Serve) -> tuple[Served, str, str]:
    """A server whose helpers are stopped in the middle, so that their work takes for ever, and two keys to it."""
    server = serve()
    with contextlib.closing(memory_of(server)) as memory:
        hostile, reader = (
            api_keys.create_key(memory, "hostile", "write")[1],
            api_keys.create_key(memory, "reader", "write")[1],
        )
    for secret in (hostile, reader):
        reply = httpx2.post(
            f"{server.url}/api/v1/import",
            content=TALK,
            headers=bearer(secret) | {"content-type": "text/plain"},
            timeout=DEADLINE,
        )
        assert reply.status_code == 200, reply.text
    (helper,) = helpers_of(server)
    os.kill(helper, signal.SIGSTOP)
    return server, hostile, reader


def test_four_uploads_that_never_end_keep_no_other_caller_waiting(stopped: tuple[Served, str, str]) -> None:
    server, hostile, reader = stopped
    with contextlib.ExitStack() as uploads:
        for _ in range(4):
            uploads.enter_context(uploading(server, hostile))
        with httpx2.Client(base_url=server.url, headers=bearer(reader), timeout=DEADLINE) as client:
            for _ in range(20):
                assert client.get("/api/v1/search", params={"q": "a"}).status_code == 200
                assert client.post("/mcp", json=CALL, headers=JSON).status_code == 200
            # Also those who upload themselves: nobody has all helpers.
            headers = {"content-type": "text/plain"}
            assert client.post("/api/v1/import", content=b"User: c\nAI: d\n", headers=headers).status_code == 200
        assert httpx2.get(f"{server.url}/ready", timeout=DEADLINE).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/import", "/api/v1/items", "/mcp"])
def test_work_ends_when_its_caller_leaves(stopped: tuple[Served, str, str], path: str) -> None:
    server, hostile, _reader = stopped
    (helper,) = helpers_of(server)
    note = b'{"content": "' + b"a " * 200_000 + b'"}'
    params = b'{"name": "add_memory", "arguments": %s}' % note
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %s}' % params
    body = {"/api/v1/import": TALK, "/api/v1/items": note, "/mcp": call}[path]
    with uploading(server, hostile, path, body):
        until(lambda: has_work(helper))
        assert helpers_of(server) == [helper]
    until(lambda: helper not in helpers_of(server))


def test_too_many_uploads_of_one_caller_are_refused_with_a_time_to_come_back(
    stopped: tuple[Served, str, str],
) -> None:
    server, hostile, _reader = stopped
    headers = bearer(hostile) | {"content-type": "text/plain"}
    with contextlib.ExitStack() as uploads:
        refused: list[httpx2.Response] = []

        def is_full() -> bool:
            uploads.enter_context(uploading(server, hostile))
            with contextlib.suppress(httpx2.TimeoutException):
                refused.append(httpx2.post(f"{server.url}/api/v1/import", content=TALK, headers=headers, timeout=0.5))
            return bool(refused)

        until(is_full)
        assert refused[0].status_code == 429 and int(refused[0].headers["retry-after"]) >= 1
        assert refused[0].json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert MOST_WAITING_FOR_HELPERS < 10


def test_a_server_that_ends_takes_its_helpers_along(stopped: tuple[Served, str, str]) -> None:
    server, hostile, _reader = stopped
    (helper,) = helpers_of(server)
    with uploading(server, hostile):
        server.end()
    until(lambda: not Path(f"/proc/{helper}").exists())
