"""Spaces in the database: what was there before they were counted, and what the role of a space may not do to them."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest
from tests.contract.conftest import make_draft

from commonplace.errors import QuotaExceeded, StoreError
from commonplace.store.maintenance import Limits
from commonplace.store.postgres import migrate
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.store import PostgresStore

NOW = 1_742_049_000_000
STEPS = migrate.migrations()
OLD_ITEMS = """
INSERT INTO spaces (name, created_ms) VALUES ('old', 1), ('empty', 2);
INSERT INTO items (space_id, uid, kind, type, title, body, content_hash, created_ms, updated_ms, forgotten_ms)
SELECT 1, 'uid ' || n, 'memory', 'note', 'é', 'body', decode(md5(n::text), 'hex'), 1, 1, CASE WHEN n > 3 THEN 1 END
  FROM generate_series(1, 5) n
"""


def test_what_was_there_before_is_counted(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier, closing(Database(bare)) as database:
        earlier.setattr(migrate, "migrations", lambda: STEPS[:2])
        migrate.migrate(database)
    with psycopg.connect(bare, autocommit=True) as connection:
        connection.execute(OLD_ITEMS)
    with closing(PostgresStore(bare, space="old")) as store:
        each = len("é{}{}body".encode())
        assert [(one.name, one.items, one.bytes) for one in store.spaces(NOW)] == [
            ("empty", 0, 0),
            ("old", 3, 3 * each),
        ]
        store.set_space_limits("old", Limits(items=3))
        with pytest.raises(QuotaExceeded):
            store.put([make_draft("one more")], NOW)


def test_the_role_of_a_space_changes_no_limit_and_no_use_of_others(url: str) -> None:
    with closing(PostgresStore(url, space="theirs")), closing(PostgresStore(url, space="ours")) as ours:
        for change in (
            "UPDATE spaces SET max_items = NULL",
            "INSERT INTO spaces (name, created_ms) VALUES ('mine', 1)",
        ):
            with pytest.raises(StoreError, match="not allowed to"), ours._database.write() as connection:
                connection.execute(change.encode())
        with ours._database.write() as connection:
            assert connection.execute("UPDATE space_use SET items = items").rowcount == 1
            assert connection.execute("SELECT name FROM spaces").fetchall() == [("ours",)]
            assert connection.execute("SELECT count(*) FROM keys").fetchall() == [(0,)]


def test_a_store_that_is_closed_twice_leaves_the_connections_of_others(bare: str) -> None:
    with closing(PostgresStore(bare)) as store, closing(PostgresStore(bare, space="other")) as other:
        other.counts()
        for _ in range(2):
            store.close()
        assert other._database.connections()["idle"] == 1
