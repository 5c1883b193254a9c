"""A real PostgreSQL with pgvector for the tests: started when the first of them needs it, stopped after the last."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from tests.postgres_process import running

from commonplace.store.postgres import pool_and_replicas
from commonplace.store.postgres.store import PostgresStore

# Nothing here has to survive a power cut.
HASTY = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=200", "shared_buffers=256MB")
# Foreign keys and triggers would ask each row what hangs from it.
EMPTY = """
DO $$
DECLARE t text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR t IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
                AND relname <> 'schema_versions'
    LOOP EXECUTE format('DELETE FROM %I', t); END LOOP;
    FOR t IN SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace
    LOOP PERFORM setval(t::regclass, 1, false); END LOOP;
END $$
"""


class PostgresServer:
    """A server, and databases in it: an empty, migrated one for each folder of a test."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._of: dict[Path, str] = {}
        self._free: list[str] = []
        # Kept open, with the plans of its statements: connecting anew takes longer than emptying.
        self._emptying: dict[str, psycopg.Connection[Any]] = {}
        # The connections of this process to each database, open between tests: a new one makes its plans anew.
        self._pools: dict[str, pool_and_replicas.Pool] = {}
        self._made = 0

    def database(self, folder: Path, *, connected: bool = False) -> str:
        """The address of the database that belongs to a folder, made or emptied on first use.

        `connected`: the usual number of connections stays open between tests.
        """
        if folder not in self._of:
            name = self._of[folder] = self._free.pop() if self._free else self._make()
            if connected and name not in self._pools:
                self._pools[name] = pool_and_replicas.borrow(self.address(name))
            elif not connected and name in self._pools:
                pool_and_replicas.give_back(self._pools.pop(name))
        return self.address(self._of[folder])

    def _make(self) -> str:
        """A copy of a database that was migrated once: migrating takes longer than most tests do."""
        template = f"commonplace_{os.getpid()}_template"
        if not self._made:
            PostgresStore(self.new_database(template)).close()
            with psycopg.connect(self.address(template), autocommit=True) as connection:
                connection.execute(EMPTY)
        self._made += 1
        name = f"commonplace_{os.getpid()}_{self._made}"
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def new_database(self, name: str) -> str:
        """The address of a new database without any table."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
        return self.address(name)

    def leave(self, folder: Path) -> None:
        """Take back the databases of a test's folders, for the next."""
        for known in [known for known in self._of if known.is_relative_to(folder)]:
            name = self._of.pop(known)
            # Whoever left a store open would meet what the next test does to its database.
            _pool, users = pool_and_replicas._pools.get((os.getpid(), self.address(name)), (None, 0))
            assert users == (name in self._pools), "a test left a store open"
            self._empty(name)
            self._free.append(name)

    def disconnect(self) -> None:
        for connection in self._emptying.values():
            connection.close()
        for kept in self._pools.values():
            pool_and_replicas.give_back(kept)

    def close(self) -> None:
        self.disconnect()
        template = [f"commonplace_{os.getpid()}_template"] if self._made else []
        for name in (*self._of.values(), *self._free, *template):
            self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _empty(self, name: str) -> None:
        """Let a database be as if nothing had ever been written: quicker than making another."""
        try:
            self._connection_to(name).execute(EMPTY)
        except psycopg.OperationalError:
            # A test ended all sessions of the server.
            self._emptying.pop(name).close()
            self._connection_to(name).execute(EMPTY)

    def _connection_to(self, name: str) -> psycopg.Connection[Any]:
        if name not in self._emptying:
            self._emptying[name] = psycopg.connect(self.address(name), autocommit=True)
        return self._emptying[name]

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """What the last of some statements answers, asked by the superuser."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def address(self, database: str) -> str:
        return make_conninfo(self.url, dbname=database)


@contextlib.contextmanager
def running_server(configured: str | None, settings: Sequence[str] = HASTY) -> Iterator[PostgresServer]:
    """The configured server, or one of our own in a temporary folder."""
    if configured:
        server = PostgresServer(configured)
        yield server
        server.close()
        return
    with running(settings) as process:
        server = PostgresServer(process.url)
        yield server
        server.disconnect()
