"""Servers in front of a PostgreSQL database: two of them are one memory, over HTTP and over standard streams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from tests.http_server.conftest import bearer
from tests.mcp.conftest import DEADLINE, Served, spawned
from tests.postgres_server import PostgresServer


@pytest.fixture
def address(postgres: PostgresServer, tmp_path: Path) -> Iterator[str]:
    yield postgres.database(tmp_path)
    postgres.leave(tmp_path)


@pytest.fixture
def two(address: str, tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    with contextlib.ExitStack() as ending:
        started = []
        for name in ("one", "two"):
            server = Served(
                tmp_path / name, "--port", "0", COMMONPLACE_DATABASE_URL=address, COMMONPLACE_EMBEDDER="off"
            )
            ending.callback(server.end)
            started.append(server)
        yield started[0], started[1]


def test_health_names_the_engine_to_who_has_a_key_and_no_address(two: tuple[Served, Served], address: str) -> None:
    server = two[0]
    reply = httpx2.get(f"{server.url}/health", headers=server.headers, timeout=DEADLINE)
    assert reply.json()["store"]["engine"] == "postgres" and address not in reply.text
    assert httpx2.get(f"{server.url}/health", timeout=DEADLINE).json().keys() == {"status", "version"}


def test_what_one_server_keeps_the_other_finds(two: tuple[Served, Served]) -> None:
    one, other = two
    body = {"content": "Tokens live an hour"}
    stored = httpx2.post(f"{one.url}/api/v1/items", json=body, headers=one.headers, timeout=DEADLINE)
    assert stored.status_code == 201
    found = httpx2.get(f"{other.url}/api/v1/search", params={"q": "tokens"}, headers=bearer(one.key), timeout=DEADLINE)
    assert "Tokens live an hour" in found.text, "and it knows the keys of the first"


def test_an_editor_of_another_machine_finds_it_too(two: tuple[Served, Served], address: str, tmp_path: Path) -> None:
    body = {"content": "Tokens live an hour"}
    httpx2.post(f"{two[0].url}/api/v1/items", json=body, headers=two[0].headers, timeout=DEADLINE)

    async def ask() -> str:
        async with spawned(tmp_path, COMMONPLACE_DATABASE_URL=address) as client:
            return str(await client.call_tool("search_memories", {"query": "tokens"}))

    assert "Tokens live an hour" in anyio.run(ask)
