"""The server plans for tables as they are, looks at them again after very many rows, and does the same by any plan."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.contract.conftest import make_draft
from tests.postgres_server import EMPTY

from commonplace.model import Scope
from commonplace.store.postgres import database, migrate
from commonplace.store.postgres.store import PostgresStore

NOW = 1_742_049_000_000
WORDS = " ".join(f"word{n}" for n in range(600))


def known_rows(url: str) -> float:
    """How many rows of words the server believes there are: -1 until it has looked."""
    with psycopg.connect(url) as connection:
        (rows,) = connection.execute("SELECT reltuples FROM pg_class WHERE oid = 'words'::regclass").fetchone() or (0,)
        return float(rows)


def test_after_very_many_rows_the_server_looks_at_its_tables(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LOOKED_AT_AFTER", 200)
    store = PostgresStore(bare)
    with psycopg.connect(bare, autocommit=True) as connection:
        connection.execute("ALTER TABLE words SET (autovacuum_enabled = false)")
    store.put([make_draft(f"{n} {WORDS}", at=NOW) for n in range(190)], NOW)
    assert known_rows(bare) <= 0
    store.put([make_draft(f"{n} {WORDS}", at=NOW) for n in range(190, 380)], NOW)
    assert known_rows(bare) == 380
    store.put([make_draft(f"{n} {WORDS}", at=NOW) for n in range(380, 500)], NOW)
    store.put([make_draft(f"{n} {WORDS}", at=NOW) for n in range(500, 600)], NOW)
    # That is not twice as many.
    assert known_rows(bare) == 380
    store.close()


def test_a_table_that_the_server_believes_empty_is_looked_at(bare: str) -> None:
    with closing(PostgresStore(bare)) as store:
        store.put([make_draft(f"n{n}", at=NOW) for n in range(50)], NOW)
    with psycopg.connect(bare, autocommit=True) as connection:
        connection.execute("ALTER TABLE words SET (autovacuum_enabled = false)")
        connection.execute(EMPTY)
        connection.execute("ANALYZE words")
    with closing(PostgresStore(bare)) as store:
        store.put([make_draft(f"n{n}", at=NOW) for n in range(database.LOOKED_AT_AFTER - 1)], NOW)
        assert known_rows(bare) == 0
        store.put([make_draft("the last one", at=NOW)], NOW)
        assert known_rows(bare) == database.LOOKED_AT_AFTER


def test_however_it_is_planned_no_more_is_claimed_than_asked_for(url: str) -> None:
    with closing(PostgresStore(url, space="large")) as large, psycopg.connect(url, autocommit=True) as connection:
        large.put([make_draft(f"n{n}", at=NOW) for n in range(200)], NOW)
        # Of all other spaces the server believes from now on that next to nothing waits there.
        connection.execute("ANALYZE jobs")
        tables_only = make_conninfo(url, options="-c enable_indexscan=off -c enable_bitmapscan=off")
        with closing(PostgresStore(tables_only, space="small")) as small:
            small.put([make_draft(f"n{n}", at=NOW) for n in range(6)], NOW)
            # Rows lie in a table as they were written: the newest first now.
            for (id_,) in connection.execute("SELECT id FROM jobs ORDER BY id DESC LIMIT 6").fetchall():
                connection.execute("UPDATE jobs SET tries = tries WHERE id = %s", (id_,))
            assert [len(small.claim_jobs("me", 4, NOW, 60_000)) for _ in range(3)] == [4, 2, 0]


def test_a_statement_is_looked_up_by_its_index_although_the_server_hides_other_spaces(bare: str) -> None:
    with closing(PostgresStore(bare)) as store:
        store.put([make_draft(f"statement number {n}", at=NOW) for n in range(300)], NOW)
    with psycopg.connect(bare) as connection:
        connection.execute("ANALYZE items")
        connection.execute(f"SET LOCAL commonplace.space = '1'; SET LOCAL ROLE {database.MEMBER}")
        plan = connection.execute("EXPLAIN SELECT id FROM items WHERE space_id = 1 AND fingerprint = 'x'").fetchall()
    assert "items_fingerprint" in str(plan)


def test_statements_of_older_servers_have_fingerprints(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [step for step in migrate.migrations() if step[1] != "fingerprints"]
    with monkeypatch.context() as older:
        older.setattr(migrate, "migrations", lambda: before)
        with closing(PostgresStore(bare)) as store:
            (stated,) = store.put([make_draft("Walrus, here.", at=NOW)], NOW)
    with closing(PostgresStore(bare)) as store:
        here = Scope.inside(None, kinds=("memory",))
        assert [item.id for item in store.statements_like("walrus here", here, 9)] == [stated.id]
