"""What goes wrong with a database server is told with a next step, leaves nothing half done, and passes by itself."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, Thread

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.contract.conftest import make_draft
from tests.postgres_server import PostgresServer

from commonplace.errors import (
    InvalidInput,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
    TimedOut,
)
from commonplace.store.postgres import migrate
from commonplace.store.postgres.store import PostgresStore

NOW = 1_742_049_000_000
WAIT = 60


@pytest.fixture
def answering() -> Iterator[Callable[[str, str], str]]:
    """The address of something that answers whoever connects with one refusal of PostgreSQL's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve(code: str, message: str) -> str:
            fields = "".join(f"{key}{value}\0" for key, value in zip("SCM", ("FATAL", code, message), strict=True))
            body = fields.encode() + b"\0"

            def answer() -> None:
                with listening.accept()[0] as caller:
                    caller.recv(1024)
                    caller.sendall(b"E" + struct.pack("!i", len(body) + 4) + body)

            Thread(target=answer, daemon=True).start()
            port = listening.getsockname()[1]
            return f"host=127.0.0.1 port={port} user=ann password=secret dbname=team sslmode=disable gssencmode=disable"

        yield serve


@pytest.mark.parametrize(
    ("code", "message", "kind", "hint"),
    [
        ("28000", 'role "ann" does not exist', StoreError, "role"),
        ("57P03", "the database system is starting up", StoreUnavailable, "Wait"),
        ("57P03", "the database system is not yet accepting connections", StoreUnavailable, "Wait"),
        ("57P03", "the database system is in recovery mode", StoreUnavailable, "Wait"),
    ],
)
def test_a_server_that_lets_nobody_in_says_why(
    answering: Callable[[str, str], str], code: str, message: str, kind: type[StoreError], hint: str
) -> None:
    with pytest.raises(kind) as error:
        PostgresStore(answering(code, message))
    assert type(error.value) is kind
    assert hint in error.value.hint
    assert "secret" not in error.value.message


def test_a_server_that_is_away_is_told_as_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreUnavailable) as error:
        PostgresStore(f"postgresql://ann:secret@127.0.0.1:{port}/team")
    assert error.value.code == "SERVICE_UNAVAILABLE"
    assert "secret" not in error.value.message


def test_an_address_that_is_none_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidInput):
        PostgresStore("postgresql//ann:secret@nowhere")


def test_a_server_with_an_older_pgvector_is_told_what_to_install(postgres: PostgresServer, bare: str) -> None:
    found = "SELECT 'vector'::name AS name, '0.7.4' AS default_version, NULL AS installed_version"
    with psycopg.connect(bare, autocommit=True) as connection:
        connection.execute(f"CREATE VIEW pg_available_extensions AS {found}".encode())
    # Looked up before those of the server.
    postgres.run(f"ALTER DATABASE {conninfo_to_dict(bare)['dbname']} SET search_path = public, pg_catalog")
    with pytest.raises(StoreError, match=r"0\.7\.4") as error:
        PostgresStore(bare)
    assert "pgvector 0.8" in error.value.hint


def test_a_server_that_is_too_old_is_refused(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "OLDEST_SERVER", 990000)
    with pytest.raises(StoreError, match="too old") as error:
        PostgresStore(bare)
    assert "PostgreSQL 99" in error.value.hint


def test_who_finds_all_connections_in_use_is_told_so(url: str) -> None:
    with (
        closing(PostgresStore(url, connections=1, busy_timeout=0.2)) as store,
        ThreadPoolExecutor(1) as threads,
        store._database.read(),
        pytest.raises(StoreBusy, match="in use"),
    ):
        threads.submit(store.pending).result(WAIT)


def test_noting_a_visit_does_not_wait_for_a_connection(url: str) -> None:
    """The patience of whoever reads is its own: that of a write would be half a minute."""
    with (
        closing(PostgresStore(url, connections=1, busy_timeout=600)) as store,
        ThreadPoolExecutor(1) as threads,
        store._database.read(),
    ):
        threads.submit(store.touch_session, 1, NOW).result(WAIT)


@pytest.mark.parametrize("text", ["a\0b", "\\\0", "\\u0000 stays"])
def test_metadata_with_characters_that_the_server_does_not_have_is_kept_without_them(url: str, text: str) -> None:
    draft = make_draft("said", kind="message", session="s", details={"role": text}, meta={"told": text})
    with closing(PostgresStore(url)) as store:
        [stored] = store.put([draft], NOW)
        item = store.get([stored.id])[stored.id]
        assert item.meta == {"told": text.replace("\0", "\ufffd")} and item.details["role"] == item.meta["told"]
        assert store.turns([stored.id])[stored.id].role == item.meta["told"]


def test_who_does_not_get_a_turn_to_write_is_told_so(url: str) -> None:
    with (
        closing(PostgresStore(url)) as store,
        closing(PostgresStore(url, busy_timeout=0.2)) as other,
        store._database.write(),
        pytest.raises(StoreBusy),
    ):
        other.put([make_draft("later")], NOW)


def test_a_question_that_takes_too_long_is_interrupted(url: str) -> None:
    with closing(PostgresStore(url)) as store:
        with pytest.raises(TimedOut), store._database.read(0.05) as connection:
            connection.execute("SELECT pg_sleep(60)")
        assert store.pending() == 0


def test_a_connection_cut_in_a_write_leaves_nothing_and_the_next_write_works(url: str) -> None:
    with closing(PostgresStore(url)) as store:
        with pytest.raises(StoreUnavailable) as error:
            _write(store, lambda: _cut_all(url))
        assert "Try again" in error.value.hint
        with store._database.read() as connection:
            assert connection.execute("SELECT 1 FROM meta WHERE key = 'half'").fetchall() == []
        assert not store.put([make_draft("written")], NOW)[0].duplicate


def test_connections_that_died_while_idle_are_made_anew(url: str) -> None:
    with closing(PostgresStore(url)) as store, ThreadPoolExecutor(3) as threads:
        begun, go_on = [Event() for _ in range(3)], Event()

        def hold(number: int) -> None:
            with store._database.read():
                begun[number].set()
                assert go_on.wait(WAIT)

        held = [threads.submit(hold, number) for number in range(3)]
        assert all(event.wait(WAIT) for event in begun)
        go_on.set()
        for one in held:
            one.result(WAIT)
        _cut_all(url)
        assert store.put([make_draft("still here")], NOW)[0].id
        assert store.pending() == 1


def test_a_replica_or_a_server_that_takes_no_writes_says_so(postgres: PostgresServer, url: str) -> None:
    with closing(PostgresStore(url)) as store:
        name = conninfo_to_dict(url)["dbname"]
        postgres.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        _cut_all(url)
        try:
            with pytest.raises(StoreReadOnly) as error:
                store.put([make_draft("never")], NOW)
        finally:
            postgres.run(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        assert "replica" in error.value.hint


def _write(store: PostgresStore, meanwhile: Callable[[], None]) -> None:
    """A write in the middle of which something happens."""
    with store._database.write() as connection:
        connection.execute("INSERT INTO meta (space_id, key, value) VALUES (%s, 'half', '')", (store._space_id,))
        meanwhile()


def _cut_all(url: str) -> None:
    """End every session in the database but our own."""
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
            (conninfo_to_dict(url)["dbname"],),
        )
