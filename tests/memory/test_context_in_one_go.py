"""A context package is read at one moment: a database server is asked in one transaction, not in twenty."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict
from tests.postgres_server import PostgresServer

from commonplace.config import Settings
from commonplace.memory.book import Book, open_book
from commonplace.memory.context import context
from commonplace.memory.remember import Note, remember
from commonplace.store.postgres.store import PostgresStore


def test_a_database_server_is_asked_in_few_transactions(
    postgres: PostgresServer, tmp_path: Path, settings: Settings
) -> None:
    address = postgres.database(tmp_path)
    with closing(open_book(replace(settings, database_url=address, database_connections=1))) as book:
        for number in range(3):
            remember(book, Note(f"We chose option {number} for the cache", type="decision", project="web"))
        before = transactions(postgres, book, address)
        found = context(book, "web", "Which cache did we choose?", 4_000, lambda _entry: 10)
        after = transactions(postgres, book, address)
    postgres.leave(tmp_path)
    assert len(found.items) == 3
    # One looks at what the question means, one reads, and one tells how many there were.
    assert 1 <= after - before <= 4


def transactions(postgres: PostgresServer, book: Book, address: str) -> int:
    """How many a database has seen, those of the only connection included."""
    assert isinstance(book.store, PostgresStore)
    with book.store._database.looking() as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
    name = conninfo_to_dict(address)["dbname"]
    return int(postgres.run(f"SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'")[0][0])
