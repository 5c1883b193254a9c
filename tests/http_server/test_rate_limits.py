"""How often and how much: buckets by themselves, and a server that keeps to them."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.http_server.conftest import JSON, LIST, bearer, memory_of
from tests.mcp.conftest import DEADLINE, Served

from commonplace.http_server import shared_state
from commonplace.http_server.middleware import TokenBuckets
from commonplace.memory import api_keys

Serve = Callable[..., Served]


class Watch:
    """A clock that stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_and_then_as_much_as_flows_in() -> None:
    watch = Watch()
    buckets = TokenBuckets(2, 3, watch)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0
    watch.now += 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") == pytest.approx(0.5)
    watch.now += 100
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]


def test_what_is_spent_beyond_the_burst_has_to_flow_in_again() -> None:
    watch = Watch()
    buckets = TokenBuckets(2, 3, watch)
    assert buckets.spend("a", 2.5) == 0
    assert buckets.spend("a", 2.5) == pytest.approx(1.0)
    assert buckets.spend("b", 1) == 0
    watch.now += 1.0
    assert buckets.spend("a", 0) == pytest.approx(0)
    assert buckets.spend("a", 1) == pytest.approx(0.5)


def test_looking_takes_nothing() -> None:
    buckets = TokenBuckets(1, 1, Watch())
    assert [buckets.wait("a") for _ in range(5)] == [0] * 5
    assert buckets.take("a") == 0
    assert buckets.wait("a") == pytest.approx(1)


@given(
    st.lists(st.floats(0, 3), max_size=60),
    st.floats(0.1, 1000),
    st.integers(1, 50),
)
def test_nobody_gets_more_than_burst_and_flow(pauses: list[float], rate: float, burst: int) -> None:
    watch = Watch()
    buckets, given_out = TokenBuckets(rate, burst, watch), 0
    for pause in pauses:
        watch.now += pause
        given_out += not buckets.take("a")
    assert given_out <= burst + rate * sum(pauses) + 1e-6
    waiting = buckets.wait("a")
    watch.now += waiting + 1e-6
    assert not buckets.take("a")


def test_quiet_callers_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_state, "MAX_CALLERS", 5)
    watch = Watch()
    levels = shared_state.OwnLevels()
    buckets = TokenBuckets(1, 2, watch, levels)
    for n in range(5):
        buckets.take(n)
    watch.now += 10
    assert buckets.take("busy") == buckets.take("busy") == 0
    for n in range(20):
        watch.now += 2
        buckets.take(f"later {n}")
        assert len(levels._of) <= 6
    assert buckets.take("busy") == 0


@pytest.mark.promise("sekha:errors:rate-limit")
def test_each_key_has_its_own_rate(serve: Serve) -> None:
    server = serve(rate_limit="0.01", rate_burst="5")
    with contextlib.closing(memory_of(server)) as memory:
        _key, other = api_keys.create_key(memory, "other")
    with httpx2.Client(base_url=server.url, timeout=DEADLINE) as client:
        replies = [client.get("/nowhere", headers=server.headers) for _ in range(8)]
        assert [reply.status_code for reply in replies] == [404] * 5 + [429] * 3
        assert int(replies[-1].headers["retry-after"]) > 60
        error = replies[-1].json()
        assert (error["code"], error["error"]["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        assert client.get("/nowhere", headers=bearer(other)).status_code == 404
        # Those without a key have a rate by address.
        assert [client.get("/").status_code for _ in range(6)] == [200] * 5 + [429]


@pytest.mark.parametrize("path", ["/mcp", "/nowhere"])
def test_a_large_body_is_refused_with_and_without_its_length(serve: Serve, path: str) -> None:
    server = serve(max_body_mb="1")
    headers = JSON | server.headers
    fine = json.dumps({**LIST, "params": {"_meta": {"x": "x" * 1000 * 1000}}})
    large = fine + " " * 100_000
    for body, refused in ((fine, False), (large, True)):
        whole = httpx2.post(f"{server.url}{path}", content=body.encode(), headers=headers, timeout=DEADLINE)
        assert (whole.status_code == 413) == refused
        if refused:
            assert (whole.json()["code"], whole.json()["error"]["code"]) == (413, "TOO_LARGE")
    assert httpx2.get(f"{server.url}/health", timeout=DEADLINE).status_code == 200


def test_a_body_of_unknown_length_is_not_read_to_its_end(serve: Serve) -> None:
    server = serve(max_body_mb="1")
    address = urlsplit(server.url)
    assert address.hostname and address.port
    start = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with socket.create_connection((address.hostname, address.port), DEADLINE) as sock:
        sock.sendall(start.encode() + piece * 17)
        # The end of the body never comes; the answer does.
        answer = sock.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert httpx2.get(f"{server.url}/health", timeout=DEADLINE).status_code == 200


def test_an_announced_body_is_not_waited_for(serve: Serve) -> None:
    server = serve(max_body_mb="1", max_import_mb="2")
    address = urlsplit(server.url)
    assert address.hostname and address.port
    for path, megabytes, refused in (("/mcp", 2, True), ("/api/v1/import", 3, True), ("/api/v1/import/x", 3, True)):
        start = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\n"
            f"Content-Length: {megabytes * 1024 * 1024}\r\n\r\n"
        )
        with socket.create_connection((address.hostname, address.port), DEADLINE) as sock:
            sock.sendall(start.encode())
            assert sock.recv(65536).startswith(b"HTTP/1.1 413 ") == refused
    body = b"x" * (1024 * 1024 + 1)
    reply = httpx2.post(f"{server.url}/api/v1/imports-of-none", content=body, headers=server.headers, timeout=DEADLINE)
    assert reply.status_code != 413
