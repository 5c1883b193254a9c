"""Connections that say nothing, or say it slowly, keep nobody else from being answered."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.mcp.conftest import DEADLINE, Served

from commonplace.http_server import server
from commonplace.http_server.server import least_important, most_connections


class FewDescriptors(Served):
    """A server that may have 256 files open, and not more if it asks for them."""

    PREFIX = ("sh", "-c", 'ulimit -n 256 && exec "$@"', "sh")


class ShortLimits(Served):
    """A server that waits for a head and a body for two seconds each, and is the same otherwise."""

    SCRIPT = """import runpy, sys
from commonplace.http_server import server
server.HEAD_SECONDS = server.BODY_SECONDS = 2.0
sys.argv = sys.argv[3:]
runpy.run_module("commonplace", run_name="__main__", alter_sys=True)
"""
    PREFIX = (sys.executable, "-c", SCRIPT)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = ShortLimits(tmp_path_factory.mktemp("impatient"), "--port", "0")
    yield server
    server.end()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if sys.platform == "win32":
        pytest.skip("limits of POSIX")
    server = FewDescriptors(tmp_path_factory.mktemp("served"), "--port", "0")
    yield server
    server.end()


def connect(server: Served) -> socket.socket:
    parts = urlsplit(server.url)
    assert parts.hostname and parts.port
    return socket.create_connection((parts.hostname, parts.port), DEADLINE)


@pytest.mark.parametrize(
    "text", [b"", b"GET / HTTP/1.1\r\nHost: 127", b"POST /login HTTP/1.1\r\nContent-Length: 9\r\n"]
)
def test_hundreds_of_silent_connections_keep_nobody_out(served: Served, text: bytes) -> None:
    with contextlib.ExitStack() as silent, httpx2.Client(base_url=served.url, timeout=DEADLINE) as known:
        assert known.get("/nowhere", headers=served.headers).status_code == 404
        for _ in range(306):
            silent.enter_context(connect(served)).sendall(text)
        # Whoever was there before, and whoever comes now.
        assert known.get("/nowhere", headers=served.headers).status_code == 404
        for _ in range(20):
            reply = httpx2.get(f"{served.url}/nowhere", headers=served.headers, timeout=DEADLINE)
            assert reply.status_code == 404


def test_callers_with_a_key_stay_when_connections_run_out(served: Served) -> None:
    with contextlib.ExitStack() as open_ones:
        start = f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {served.key}\r\n\r\n"
        listener = open_ones.enter_context(connect(served))
        listener.sendall(start.encode())
        assert b"200 OK" in listener.recv(65536)
        for _ in range(306):
            open_ones.enter_context(connect(served))
        stored = httpx2.post(
            f"{served.url}/api/v1/items", json={"content": "Heard"}, headers=served.headers, timeout=DEADLINE
        )
        received = b""
        while stored.json()["uid"].encode() not in received:
            piece = listener.recv(65536)
            assert piece, "the stream of somebody with a key was closed"
            received += piece


def test_a_head_that_does_not_come_is_not_waited_for(impatient: Served) -> None:
    with connect(impatient) as silent, connect(impatient) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert [silent.recv(1), closed(slow)] == [b"", True]


def closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_body_that_trickles_is_not_waited_for(impatient: Served) -> None:
    head = (
        f"POST /api/v1/items HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {impatient.key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    )
    over = threading.Event()
    with connect(impatient) as slow:
        slow.sendall(head.encode())

        def trickle() -> None:
            with contextlib.suppress(OSError):
                while not over.wait(0.2):
                    slow.sendall(b" ")

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            assert closed(slow)
        finally:
            over.set()
            thread.join()


@dataclass
class Fake:
    """What is asked of a connection to find the one that matters least."""

    name: str
    authenticated: bool = False
    is_idle: bool = True
    address: str = "192.0.2.1"
    waiting_since: float = 0.0


def test_the_connection_that_matters_least_is_closed_first() -> None:
    listener = Fake("listener", authenticated=True, is_idle=False)
    keyed_idle = Fake("with a key, idle", authenticated=True)
    stranger_reading = Fake("a stranger, being answered", is_idle=False, address="192.0.2.9")
    lonely = Fake("a stranger alone at its address", address="192.0.2.2", waiting_since=-9)
    older, newer = Fake("older", waiting_since=1), Fake("newer", waiting_since=2)
    left = [listener, keyed_idle, stranger_reading, lonely, newer, older]
    order = []
    while left:
        victim = cast(Fake, least_important(cast(Any, left)))
        order.append(victim)
        left.remove(victim)
    assert order[:2] == [older, lonely] or order[:2] == [older, newer]
    assert order[3:] == [stranger_reading, keyed_idle, listener]


def test_there_are_fewer_connections_than_descriptors() -> None:
    for descriptors in (64, 256, 1024, 4096, 65536):
        assert 8 <= most_connections(descriptors) <= min(server.MOST_CONNECTIONS, descriptors // 2)
