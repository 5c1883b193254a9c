"""The database server dies while two servers write: they follow by themselves, and what was acknowledged is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from tests.mcp.conftest import DEADLINE, Served
from tests.postgres_process import PostgresProcess, any_of, running
from tests.store.postgres.writers import writing

from commonplace.memory.api_keys import KEY_START
from commonplace.store.postgres.store import PostgresStore

# Commits are waited for, though not by the disk: the processes die, the machine does not.
SETTINGS = ("fsync=off", "full_page_writes=off", "wal_retrieve_retry_interval=100ms")
DATABASE = "team"
SOME = 5


@pytest.fixture
def primary() -> Iterator[PostgresProcess]:
    with running(SETTINGS) as server:
        server.run(f"CREATE DATABASE {DATABASE}")
        yield server


@pytest.fixture
def replica(primary: PostgresProcess) -> Iterator[PostgresProcess]:
    """A server that follows, without which the primary acknowledges nothing."""
    PostgresStore(primary.address(DATABASE)).close()
    with running(SETTINGS, following=primary) as server:
        primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        yield server


@pytest.fixture
def servers(primary: PostgresProcess, replica: PostgresProcess, tmp_path: Path) -> Iterator[list[Served]]:
    """Two of them, on whichever of both takes writes."""
    address = any_of([primary, replica], DATABASE)
    with ThreadPoolExecutor() as threads, contextlib.ExitStack() as ending:
        started = threads.map(lambda _: Served(tmp_path, "--port", "0", COMMONPLACE_DATABASE_URL=address), range(2))
        yield [ending.enter_context(_ended(server)) for server in started]


def test_servers_wait_for_a_killed_database_follow_its_promoted_replica_and_lose_nothing(
    primary: PostgresProcess, replica: PostgresProcess, servers: list[Served]
) -> None:
    with writing(servers, servers[0].key) as writers:
        writers.wait_for_writes(SOME)
        primary.kill()
        writers.wait_for_refusals()
        primary.start()
        writers.wait_for_writes(SOME)
        primary.kill()
        writers.wait_for_refusals()
        replica.promote()
        writers.wait_for_writes(SOME)
        writers.stop()
        assert writers.strange == []
        assert writers.lost() == []


def test_a_server_that_starts_before_its_database_works_once_it_is_there(tmp_path: Path) -> None:
    with (
        closing(PostgresProcess(SETTINGS)) as database,
        _ended(Served(tmp_path, "--port", "0", COMMONPLACE_DATABASE_URL=database.address(DATABASE))) as server,
    ):
        assert "cannot be reached" in server.remark and "nothing needs a restart" in server.remark
        assert _error_code(server) == "SERVICE_UNAVAILABLE"
        database.start()
        assert _error_code(server) == "DB_ERROR", "there is no such database yet"
        database.run(f"CREATE DATABASE {DATABASE}")
        assert _error_code(server) == "UNAUTHORIZED"


@contextlib.contextmanager
def _ended(server: Served) -> Iterator[Served]:
    try:
        yield server
    finally:
        server.end()


def _error_code(server: Served) -> str:
    # In the form of a key: anything else is refused without asking the database.
    headers = {"authorization": f"Bearer {KEY_START}{'0' * 48}"}
    reply = httpx2.get(f"{server.url}/api/v1/items", headers=headers, timeout=DEADLINE)
    return str(reply.json()["error"]["code"])
