"""A real server that refuses: users, passwords and databases that are wrong, no connection left, no pgvector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.postgres_process import PostgresProcess, running

from commonplace.errors import StoreError, StoreUnavailable
from commonplace.store.postgres.store import PostgresStore

CONNECTIONS = 8
RULES = "".join(
    f"local all {user} {how}\nhost all {user} 127.0.0.1/32 {how}\n"
    for user, how in (("ann", "scram-sha-256"), ("bob", "reject"), ("postgres", "trust"))
)


@pytest.fixture(scope="module")
def strict() -> Iterator[PostgresProcess]:
    """A server that asks for a password, has few connections, and finds no extension."""
    with running((f"max_connections={CONNECTIONS}", "extension_control_path=nowhere")) as server:
        server.run(
            "CREATE ROLE ann LOGIN PASSWORD 'right'",
            "CREATE ROLE bob LOGIN",
            "CREATE DATABASE team OWNER ann",
            "CREATE DATABASE closed",
            "REVOKE CONNECT ON DATABASE closed FROM PUBLIC",
        )
        (server.folder / "data" / "pg_hba.conf").write_text(RULES, encoding="utf-8")
        server.run("SELECT pg_reload_conf()")
        yield server


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"password": "not-right"}, "password"),
        ({}, "Name a password"),
        ({"user": "carl"}, "pg_hba.conf"),
        ({"user": "bob"}, "pg_hba.conf"),
        ({"password": "right", "dbname": "nowhere"}, "Create the database"),
        ({"password": "right", "dbname": "closed"}, "connect"),
        ({"password": "right"}, "pgvector 0.8"),
    ],
)
def test_whoever_is_not_let_in_is_told_what_to_correct(
    strict: PostgresProcess, wrong: dict[str, str], hint: str
) -> None:
    with pytest.raises(StoreError) as error:
        PostgresStore(make_conninfo(strict.address("team"), **{"user": "ann", **wrong}))
    assert type(error.value) is StoreError
    assert hint in error.value.hint and "not-right" not in error.value.message


def test_a_server_without_a_free_connection_says_so(strict: PostgresProcess) -> None:
    with ExitStack() as held:
        for _ in range(CONNECTIONS):
            held.enter_context(psycopg.connect(strict.address("team")))
        with pytest.raises(StoreUnavailable, match="no connection left") as error:
            PostgresStore(make_conninfo(strict.address("team"), user="ann", password="right"))
    assert "max_connections" in error.value.hint
