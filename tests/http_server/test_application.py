"""The site's own pages, and the names it answers to."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from tests.http_server.conftest import JSON, LIST, bearer
from tests.mcp.conftest import DEADLINE, Served

Serve = Callable[..., Served]


@pytest.mark.parametrize("path", ["/", "/mcp", "/health", "/nowhere"])
def test_foreign_hosts_and_origins_are_refused_on_every_route(served: Served, path: str) -> None:
    with httpx2.Client(base_url=served.url, timeout=DEADLINE) as client:

        def status(**headers: str) -> int:
            return client.post(path, json=LIST, headers=JSON | headers).status_code

        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example:1"):
            assert status(host=host) == 421
        for origin in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "http://localhost.evil:1"):
            assert status(origin=origin) == 403
        assert status(host="localhost:1234", origin="http://localhost:5173") not in (403, 421)


def test_the_front_page_says_where_to_go(served: Served) -> None:
    reply = httpx2.get(f"{served.url}/", timeout=DEADLINE)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain")
    assert all(f"{served.url}{path}" in reply.text for path in ("/mcp", "/health", "/api/v1", "/api/v1/docs"))


def test_health_tells_little_to_those_without_a_key(served: Served) -> None:
    for headers in ({}, bearer("sk-sekha-" + "0" * 48)):
        reply = httpx2.get(f"{served.url}/health", headers=headers, timeout=DEADLINE)
        assert reply.status_code == 200
        assert reply.json().keys() == {"status", "version"}


def test_health_tells_what_is_kept_where(served: Served) -> None:
    reply = httpx2.get(f"{served.url}/health", headers=served.headers, timeout=DEADLINE)
    assert reply.status_code == 200
    health = reply.json()
    assert health["status"] == "healthy"
    assert {"version", "data_dir", "store", "counts", "total", "pending", "model", "search"} <= health.keys()
    assert health["model"]["state"] == "off"


def test_where_the_store_is_is_for_whoever_looks_after_the_server(served: Served) -> None:
    request = {"name": "reader", "scope": "read"}
    made = httpx2.post(f"{served.url}/api/v1/keys", json=request, headers=served.headers, timeout=DEADLINE)
    reader = {"Authorization": f"Bearer {made.json()['secret']}"}
    for path in ("/health", "/api/v1/status"):
        all_of_it = httpx2.get(served.url + path, headers=served.headers, timeout=DEADLINE).json()
        reply = httpx2.get(served.url + path, headers=reader, timeout=DEADLINE)
        assert reply.json()["store"]["engine"] == "sqlite" and reply.json()["total"] == all_of_it["total"]
        assert all_of_it["data_dir"] not in reply.text and all_of_it["data_dir"] in all_of_it["store"]["path"]


def test_what_is_not_there_is_told_as_an_error(served: Served) -> None:
    reply = httpx2.get(f"{served.url}/nowhere", headers=served.headers, timeout=DEADLINE)
    assert (reply.status_code, reply.json()["code"], reply.json()["error"]["code"]) == (404, 404, "NOT_FOUND")
    reply = httpx2.post(f"{served.url}/health", headers=served.headers, timeout=DEADLINE)
    assert (reply.status_code, reply.json()["code"]) == (405, 405)
    assert "GET" in reply.headers["allow"]


def test_other_names_are_answered_to_if_they_are_ours(serve: Serve) -> None:
    server = serve(allowed_hosts="memory.example.com, 10.0.0.5")

    def status(**headers: str) -> int:
        return httpx2.get(f"{server.url}/health", headers=headers, timeout=DEADLINE).status_code

    for host in ("memory.example.com", "MEMORY.example.com:8765", "10.0.0.5:80", "localhost", "[::1]:1"):
        assert status(host=host) == 200
    for host in (
        "example.com",
        "memory.example.com.evil",
        "10.0.0.50",
        "memory.example.com:x",
        "localhost:evil",
        "[::2]",
    ):
        assert status(host=host) == 421
    assert status(origin="https://memory.example.com") == 200
    assert status(origin="https://example.com") == 403
