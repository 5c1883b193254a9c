"""A server among many: whether it lives, whether it is ready, and how it ends without breaking anything off."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest
from tests.http_server.conftest import memory_of
from tests.mcp.conftest import DEADLINE, Served
from tests.postgres_server import PostgresServer

from commonplace.memory.items import browse_items
from commonplace.model import Scope

Serve = Callable[..., Served]


def probe(server: Served, path: str = "/ready", **headers: str) -> httpx2.Response:
    return httpx2.get(f"{server.url}{path}", headers=headers, timeout=DEADLINE)


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def until_ready(server: Served, status: int) -> httpx2.Response:
    """Ask until this is the answer."""
    end = time.monotonic() + DEADLINE
    while (answer := probe(server)).status_code != status:
        assert time.monotonic() < end, answer.text
    return answer


def test_probes_need_no_key_and_no_name_and_are_not_counted_against_anybody(serve: Serve) -> None:
    server = serve(rate_limit="0.001", rate_burst="1")
    for path, expected in (("/live", {"status": "live"}), ("/ready", {"status": "ready"})):
        for headers in ({}, {"host": "10.1.2.3:8765"}, {"authorization": "Bearer wrong"}) * 3:
            answer = probe(server, path, **headers)
            assert (answer.status_code, answer.json()) == (200, expected)
        assert httpx2.post(f"{server.url}{path}", timeout=DEADLINE).status_code == 405


def test_a_server_without_its_store_lives_and_is_not_ready(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "commonplace.db").write_bytes(b"this is no database at all" * 100)
    server = serve()
    assert probe(server, "/live").status_code == 200
    answer = probe(server)
    assert code(answer) == (503, "DB_CORRUPT")
    strangers = [probe(server, "/api/v1/items", authorization=f"Bearer sk-sekha-{'0' * 48}"), probe(server, "/health")]
    assert [code(entry) for entry in strangers] == [(503, "DB_CORRUPT")] * 2
    for message in (answer, *strangers):
        assert str(tmp_path) not in message.text and "commonplace.db" not in message.text
    (tmp_path / "data" / "commonplace.db").unlink()
    assert probe(server).status_code == 200
    timer = threading.Timer(DEADLINE, server.process.kill)
    timer.start()
    assert server.process.stderr is not None
    assert "first API key was created" in server.process.stderr.readline(), "as it would have been at the start"
    timer.cancel()
    assert httpx2.get(f"{server.url}/api/v1/items", headers=server.headers, timeout=DEADLINE).status_code == 200


@pytest.fixture
def team(postgres: PostgresServer, tmp_path: Path) -> Iterator[tuple[Served, str]]:
    address = postgres.database(tmp_path)
    server = Served(tmp_path, "--port", "0", COMMONPLACE_DATABASE_URL=address)
    yield server, address
    server.end()
    postgres.leave(tmp_path)


def test_a_database_that_hangs_or_is_of_another_version_is_told_soon(team: tuple[Served, str]) -> None:
    server, address = team
    assert probe(server).status_code == 200
    with psycopg.connect(address) as other:
        # Whoever looks at it waits for as long as this is open; the probe does not.
        other.execute("LOCK TABLE schema_versions IN ACCESS EXCLUSIVE MODE")
        assert code(probe(server)) == (503, "SERVICE_UNAVAILABLE")
        assert probe(server, "/live").status_code == 200
        other.rollback()
        until_ready(server, 200)
        other.execute("UPDATE schema_versions SET number = number - 1000")
        other.commit()
        try:
            assert code(until_ready(server, 503)) == (503, "DB_READ_ONLY")
        finally:
            other.execute("UPDATE schema_versions SET number = number + 1000")
            other.commit()
        until_ready(server, 200)


class Halfway:
    """A request of which the server has the half: it has begun to read the body, and the rest is not sent yet."""

    def __init__(self, server: Served, content: str) -> None:
        host, _, port = server.url.removeprefix("http://").partition(":")
        self._body = json.dumps({"content": content}).encode()
        self._socket = socket.create_connection((host, int(port)), DEADLINE)
        head = (
            f"POST /api/v1/items HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(self._body)}\r\nExpect: 100-continue\r\n\r\n"
        )
        self._socket.sendall(head.encode())
        self._file = self._socket.makefile("rb")
        # The server says so when it wants the body.
        assert self._file.readline().split()[1] == b"100"
        self._file.readline()
        self._socket.sendall(self._body[:5])

    def rest(self) -> int:
        """Send the other half; the status of the answer."""
        self._socket.sendall(self._body[5:])
        return int(self._file.readline().split()[1])

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_has_begun_is_finished_while_no_more_is_asked_for(serve: Serve) -> None:
    server = serve(shutdown_grace="60")
    received: list[str] = []

    def listen() -> None:
        with httpx2.stream("GET", f"{server.url}/api/v1/events", headers=server.headers, timeout=DEADLINE) as stream:
            for line in stream.iter_lines():
                received.append(line)
                listening.set()

    listening, listener = threading.Event(), threading.Thread(target=listen)
    listener.start()
    assert listening.wait(DEADLINE)
    with contextlib.closing(Halfway(server, "Said while the server was told to end")) as halfway:
        server.process.send_signal(signal.SIGTERM)
        assert code(until_ready(server, 503)) == (503, "SHUTTING_DOWN")
        assert probe(server, "/live").status_code == 200
        listener.join(DEADLINE)
        assert not listener.is_alive(), "who listens is told to go"
        assert halfway.rest() == 201
    assert server.end() == (0, "")
    with contextlib.closing(memory_of(server)) as memory:
        (item,) = browse_items(memory, Scope()).items
        assert item.body == "Said while the server was told to end"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_who_sends_requests_here_has_time_to_learn_that_it_ends(serve: Serve) -> None:
    server = serve(shutdown_delay="3600")
    until_ready(server, 200)
    server.process.send_signal(signal.SIGTERM)
    assert code(until_ready(server, 503)) == (503, "SHUTTING_DOWN")
    for n in range(3):
        text = httpx2.post(f"{server.url}/api/v1/items", json={"content": f"late {n}"}, headers=server.headers)
        assert text.status_code == 201
    # Whoever does not want to wait says so.
    assert server.end(signal.SIGINT)[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_never_ends_is_broken_off_when_its_time_is_over(serve: Serve) -> None:
    server = serve(shutdown_grace="0.5")
    with contextlib.closing(Halfway(server, "never")):
        status, log = server.end()
    assert status == 0 and "Cancel 1 running task(s)" in log and "Traceback" not in log
