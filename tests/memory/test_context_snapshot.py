"""A context package is read at one moment: a database server is asked in one transaction, not in twenty."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict
from tests.postgres_server import PostgresServer

from commonplace.config import Settings
from commonplace.memory.context import build_context
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.store.postgres.store import PostgresStore


def test_a_database_server_is_asked_in_few_transactions(
    postgres: PostgresServer, tmp_path: Path, settings: Settings
) -> None:
    address = postgres.database(tmp_path)
    with closing(open_memory(replace(settings, database_url=address, database_connections=1))) as memory:
        for number in range(3):
            remember(memory, NewItem(f"We chose option {number} for the cache", type="decision", project="web"))
        before = transactions(postgres, memory, address)
        found = build_context(memory, "web", "Which cache did we choose?", 4_000, lambda _entry: 10)
        after = transactions(postgres, memory, address)
    postgres.leave(tmp_path)
    assert len(found.items) == 3
    # One looks at what the question means, one reads, and one tells how many there were.
    assert 1 <= after - before <= 4


def transactions(postgres: PostgresServer, memory: LocalMemory, address: str) -> int:
    """How many a database has seen, those of the only connection included."""
    assert isinstance(memory.store, PostgresStore)
    with memory.store._database.admin_read() as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
    name = conninfo_to_dict(address)["dbname"]
    return int(postgres.run(f"SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'")[0][0])
