"""The server plans for tables as they are: after very many rows it is told to look at them again."""

from __future__ import annotations

import psycopg
import pytest
from tests.contract.conftest import make_draft

from commonplace.store.postgres import database
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
