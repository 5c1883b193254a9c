"""Migrations of a database: whole or not at all, one after another, and without stopping anybody if they only add."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import LiteralString

import psycopg
import pytest
from tests.contract.conftest import make_draft

from commonplace.errors import StoreBusy, StoreError, StoreTooNew
from commonplace.model import Scope
from commonplace.store.postgres import migrate
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.migrate import ADDITIVE
from commonplace.store.postgres.store import PostgresStore

NOW = 1_742_049_000_000
WAIT = 60
STEPS = migrate.migrations()
NEWEST = STEPS[-1][0]
ADDED = (901, "a_column", f"{ADDITIVE}ALTER TABLE items ADD COLUMN mood text NOT NULL DEFAULT ''")
CHANGED = (902, "another_shape", "ALTER TABLE items RENAME COLUMN title TO headline")
# The least that a migration makes; it waits for the table `held`.
SMALL = """
CREATE TABLE schema_versions (number integer, name text, additive boolean NOT NULL DEFAULT false);
CREATE TABLE spaces (); CREATE TABLE items (); CREATE TABLE searched_words ();
LOCK TABLE held;
"""
# Waits for the table `held` in the middle, for longer than anybody would.
KILLED = """
import sys
from commonplace.model import Scope
from commonplace.store.postgres import migrate
from commonplace.store.postgres.store import PostgresStore
steps = [*migrate.migrations(), (901, "slow", "CREATE TABLE half (); LOCK TABLE held; CREATE TABLE whole ()")]
migrate.migrations, migrate.HOLDING_UP_MS = lambda: steps, 600_000
PostgresStore(sys.argv[1])
"""


@pytest.fixture
def watching(bare: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection to the same database, to look at it."""
    with psycopg.connect(bare, autocommit=True) as connection:
        yield connection


def test_numbers_follow_each_other() -> None:
    assert [number for number, _name, _script in STEPS] == list(range(1, NEWEST + 1))


def test_an_interrupted_migration_leaves_nothing_and_is_done_the_next_time(
    bare: str, watching: psycopg.Connection[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(migrate, "migrations", lambda: [*STEPS, (901, "broken", "CREATE TABLE x (); SELECT 1 / 0")])
        with pytest.raises(StoreError):
            PostgresStore(bare)
    assert _tables(watching, "items", "x") == []
    with closing(PostgresStore(bare)) as store:
        assert store.schema == NEWEST


def test_who_is_killed_while_migrating_leaves_nothing_and_holds_up_nobody(
    bare: str, watching: psycopg.Connection[tuple[object, ...]]
) -> None:
    watching.execute("CREATE TABLE held ()")
    with psycopg.connect(bare) as holding:
        holding.execute("LOCK TABLE held")
        migrating = subprocess.Popen([sys.executable, "-c", KILLED, bare])
        _until_waiting(watching)
        migrating.kill()
        migrating.wait(WAIT)
    with closing(PostgresStore(bare)) as store:
        assert store.schema == NEWEST
        assert store.put([make_draft("written")], NOW)[0].id
    assert _tables(watching, "half", "whole") == []


def test_many_may_open_an_empty_database_at_once(bare: str) -> None:
    def schema(_number: int) -> int:
        with closing(PostgresStore(bare)) as store:
            return store.schema

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(schema, range(4))) == {NEWEST}


def test_who_waited_for_a_migration_does_not_do_it_again(
    bare: str, watching: psycopg.Connection[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # With few tables and the extension there, nothing makes the server tell a connection that waits what was made.
    watching.execute("CREATE TABLE held (); CREATE EXTENSION vector")
    monkeypatch.setattr(migrate, "migrations", lambda: [(1, "slow", SMALL)])
    monkeypatch.setattr(migrate, "HOLDING_UP_MS", 1000 * WAIT)
    with closing(Database(bare)) as one, closing(Database(bare)) as other, ThreadPoolExecutor(2) as threads:
        with psycopg.connect(bare) as holding:
            holding.execute("LOCK TABLE held")
            first = threads.submit(migrate.migrate, one)
            _until_waiting(watching)
            second = threads.submit(migrate.migrate, other)
            _until_waiting(watching, "locktype = 'advisory'")
        assert (first.result(WAIT), second.result(WAIT)) == (1, 1)
    assert _versions(watching) == [1]


def test_beside_a_migration_that_only_adds_older_servers_go_on_and_others_start(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresStore(bare)) as older:
        stored = older.put([make_draft("before")], NOW)[0].id
        with monkeypatch.context() as upgraded:
            upgraded.setattr(migrate, "migrations", lambda: [*STEPS, ADDED])
            with closing(PostgresStore(bare)) as newer:
                assert newer.schema == ADDED[0]
                assert newer.get([stored])[stored].body == "before"
        assert older.put([make_draft("after")], NOW)[0].id
    for migrate_first in (True, False):
        with closing(PostgresStore(bare, migrate=migrate_first)) as started:
            assert started.schema == ADDED[0]
            assert len(started.newest(Scope(), 9)) == 2


def test_after_a_migration_that_changes_something_older_servers_do_not_start(
    bare: str, watching: psycopg.Connection[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as upgraded:
        upgraded.setattr(migrate, "migrations", lambda: [*STEPS, ADDED, CHANGED])
        PostgresStore(bare).close()
    for migrate_first in (True, False):
        with pytest.raises(StoreTooNew, match=f"schema {CHANGED[0]}") as error:
            PostgresStore(bare, migrate=migrate_first)
        assert "Upgrade" in error.value.hint
    assert _versions(watching) == [*range(1, NEWEST + 1), ADDED[0], CHANGED[0]]


def test_a_migration_that_waits_for_readers_lets_others_pass(
    bare: str, watching: psycopg.Connection[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "HOLDING_UP_MS", 200)
    with closing(PostgresStore(bare)) as serving, ThreadPoolExecutor(1) as threads:
        monkeypatch.setattr(migrate, "migrations", lambda: [*STEPS, ADDED])
        with psycopg.connect(bare) as reading:
            reading.execute("SELECT count(*) FROM items")
            with pytest.raises(StoreBusy):
                PostgresStore(bare, busy_timeout=0.1)
            upgrading = threads.submit(PostgresStore, bare)
            _until_waiting(watching)
            assert serving.put([make_draft("meanwhile")], NOW)[0].id
            assert not upgrading.done()
        upgrading.result(WAIT).close()
    assert _versions(watching)[-1] == ADDED[0]


def _until_waiting(
    watching: psycopg.Connection[tuple[object, ...]], lock: LiteralString = "mode = 'AccessExclusiveLock'"
) -> None:
    """Return when somebody waits for such a lock: for a table to be theirs alone, unless told."""
    waiting = f"SELECT 1 FROM pg_locks WHERE {lock} AND NOT granted"
    for _ in range(100 * WAIT):
        if watching.execute(waiting).fetchall():
            return
        watching.execute("SELECT pg_sleep(0.01)")
    raise TimeoutError("Nobody waits.")


def _tables(watching: psycopg.Connection[tuple[object, ...]], *names: str) -> list[object]:
    found = watching.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s)", (list(names),))
    return [name for (name,) in found]


def _versions(watching: psycopg.Connection[tuple[object, ...]]) -> list[object]:
    return [number for (number,) in watching.execute("SELECT number FROM schema_versions ORDER BY number")]
