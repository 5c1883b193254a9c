"""A transaction sees the rows of its space and no others, whatever a statement forgets to say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.contract.conftest import make_draft
from tests.postgres_server import PostgresServer

from commonplace.errors import StoreError
from commonplace.store.postgres.store import PostgresStore

NOW = 1_742_049_000_000


@pytest.fixture
def ours(url: str) -> Iterator[PostgresStore]:
    """A store of a space beside another one; both have one item with the same words."""
    with closing(PostgresStore(url, space="theirs")) as theirs:
        theirs.put([make_draft("walrus", project="p", session="s", tags=("t",))], NOW)
    with closing(PostgresStore(url, space="ours")) as store:
        store.put([make_draft("walrus", project="p", session="s", tags=("t",))], NOW)
        yield store


def tables(store: PostgresStore) -> list[str]:
    with store._database.admin_read() as connection:
        rows = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE a.attname = 'space_id' AND c.relkind IN ('r', 'v') AND c.relnamespace = 'public'::regnamespace"
        ).fetchall()
    return [row[0] for row in rows]


def test_every_table_shows_one_space_only(ours: PostgresStore) -> None:
    found: dict[str, set[int]] = {}
    for table in tables(ours):
        with ours._database.read() as connection:
            found[table] = {row[0] for row in connection.execute(f"SELECT space_id FROM {table}".encode()).fetchall()}
    assert set.union(*found.values()) == {ours._space_id}
    assert {name for name, spaces in found.items() if spaces} >= {
        "items",
        "passages",
        "words",
        "searched_words",
        "jobs",
    }


def test_a_row_of_another_space_is_neither_made_nor_changed(ours: PostgresStore) -> None:
    with pytest.raises(StoreError), ours._database.write() as connection:
        connection.execute("INSERT INTO meta (space_id, key, value) VALUES (%s, 'k', 'v')", (ours._space_id - 1,))
    with ours._database.write() as connection:
        assert connection.execute("UPDATE items SET title = 'mine'").rowcount == 1
        assert connection.execute("DELETE FROM words").rowcount == 1


def test_nobody_makes_a_space_or_a_version_by_the_way(ours: PostgresStore) -> None:
    for table in ("spaces", "schema_versions"):
        with pytest.raises(StoreError), ours._database.write() as connection:
            connection.execute(f"DELETE FROM {table}".encode())


def test_the_next_transaction_of_a_connection_belongs_to_nobody(ours: PostgresStore) -> None:
    with ours._database.read():
        pass
    with ours._database.admin_read() as connection:
        row = connection.execute("SELECT current_setting('commonplace.space', true), current_user").fetchone()
    assert row is not None and not row[0] and row[1] != "commonplace_member"


def test_words_are_found_by_their_index_in_spite_of_the_fence(ours: PostgresStore) -> None:
    ours.put([make_draft(f"number {n}") for n in range(1_000)], NOW)
    with ours._database.admin_write() as connection:
        connection.execute("SELECT gin_clean_pending_list('words_v')")
        connection.execute("ANALYZE words")
    wanted = f"'{ours._space_id}:walrus'"
    plans = {}
    for rows in ("searched_words", "words"):
        with ours._database.read() as connection:
            connection.execute("SET LOCAL enable_seqscan = off")
            plan = connection.execute(f"EXPLAIN SELECT id FROM {rows} WHERE v @@ $${wanted}$$".encode()).fetchall()
        plans[rows] = "\n".join(row[0] for row in plan)
    assert "words_v" in plans["searched_words"]
    assert "words_v" not in plans["words"], "the view is not needed any more"


def test_an_owner_without_special_rights_is_enough(postgres: PostgresServer, bare: str) -> None:
    postgres.run("CREATE ROLE ann LOGIN", f"ALTER DATABASE {conninfo_to_dict(bare)['dbname']} OWNER TO ann")
    address = make_conninfo(bare, user="ann")
    try:
        with pytest.raises(StoreError) as error:
            PostgresStore(address)
        assert "CREATE EXTENSION vector" in error.value.hint
        with psycopg.connect(bare, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        with closing(PostgresStore(address)) as store:
            stored = store.put([make_draft("walrus")], NOW)
            assert store.get([stored[0].id])
            # Only an administrator lets somebody be a member.
            assert store.describe()["row_security"] is False
        # One who does so later has nothing else to do.
        postgres.run("GRANT commonplace_member TO ann")
        with closing(PostgresStore(address)) as store:
            assert store.describe()["row_security"] is True
            assert store.get([stored[0].id]) and store.put([make_draft("seal")], NOW)[0].id
    finally:
        with psycopg.connect(bare, autocommit=True) as connection:
            connection.execute("DROP OWNED BY ann CASCADE")
        postgres.run(f"ALTER DATABASE {conninfo_to_dict(bare)['dbname']} OWNER TO postgres", "DROP ROLE ann")
