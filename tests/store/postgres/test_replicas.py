"""Replicas answer searches as far as they have come: nobody misses what they wrote, and nobody is told of failures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.contract.conftest import make_draft
from tests.polling import until
from tests.postgres_process import PostgresProcess, any_of, running
from tests.postgres_server import HASTY

from commonplace.errors import InvalidInput, StoreReadOnly, StoreUnavailable
from commonplace.model import Scope
from commonplace.store.postgres import pool_and_replicas
from commonplace.store.postgres.connection import PostgresConnection
from commonplace.store.postgres.store import PostgresStore
from commonplace.text.query import parse_query

NOW = 1_742_049_000_000
DATABASE = "commonplace_replicated"


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[PostgresProcess, PostgresProcess]]:
    """A primary, and a replica that follows it."""
    with running(HASTY) as primary, running(HASTY, following=primary) as replica:
        yield primary, replica


@pytest.fixture(scope="module")
def primary(pair: tuple[PostgresProcess, PostgresProcess]) -> str:
    """The address of a database on the primary."""
    pair[0].run(f"CREATE DATABASE {DATABASE}")
    return pair[0].address(DATABASE)


@pytest.fixture
def other(primary: str, request: pytest.FixtureRequest) -> Iterator[PostgresStore]:
    """Another server's store, in a space of its own."""
    with closing(PostgresStore(primary, space=request.node.name)) as opened:
        yield opened


@pytest.fixture
def store(
    pair: tuple[PostgresProcess, PostgresProcess],
    primary: str,
    other: PostgresStore,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[PostgresStore]:
    """A store of the same space whose searches go to the replica.

    How far the primary is it asks once: whenever the primary writes something by itself, the replica is behind for a
    moment.
    """
    monkeypatch.setattr(pool_and_replicas, "LAG_SECONDS", 3600.0)
    replica = pair[1].address(DATABASE)
    with closing(PostgresStore(primary, space=request.node.name, replicas=[replica])) as opened:
        until(lambda: _states(opened) == {"in use"})
        yield opened


def test_a_search_goes_to_the_replica_until_something_was_written_here(
    pair: tuple[PostgresProcess, PostgresProcess],
    store: PostgresStore,
    other: PostgresStore,
) -> None:
    assert _found(store) == set()
    with _standing_still(*pair):
        theirs = other.put([make_draft("walnut, says another")], NOW)[0].id
        assert _found(store) == set(), "asked of the replica, which does not have it yet"
        ours = store.put([make_draft("walnut, say we")], NOW)[0].id
        assert _found(store) == {theirs, ours}
    _until_replayed(*pair)
    assert _found(store) == {theirs, ours}


def test_who_was_told_of_something_finds_it(
    pair: tuple[PostgresProcess, PostgresProcess],
    store: PostgresStore,
    other: PostgresStore,
) -> None:
    assert _found(store) == set()
    _events, mark = store.events(None, 0)
    with _standing_still(*pair):
        theirs = other.put([make_draft("walnut, says another")], NOW)[0].id
        events, _mark = store.events(mark, 10)
        assert len(events) == 1
        assert _found(store) == {theirs}


def test_a_replica_that_falls_behind_is_left_out(
    pair: tuple[PostgresProcess, PostgresProcess],
    store: PostgresStore,
    other: PostgresStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_and_replicas, "LAG_SECONDS", 0.0)
    with _standing_still(*pair):
        theirs = other.put([make_draft("walnut, says another")], NOW)[0].id
        # The log is on its way to the disk of the primary, which does not wait for it in tests.
        pair[0].run("CHECKPOINT")
        assert _found(store) == {theirs} and _states(store) == {"behind"}


def test_a_replica_that_is_away_is_not_missed_and_is_tried_again(
    pair: tuple[PostgresProcess, PostgresProcess], store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = store.put([make_draft("walnut")], NOW)[0].id
    _until_replayed(*pair)
    assert _found(store) == {stored} and _states(store) == {"in use"}
    monkeypatch.setattr(pool_and_replicas, "AWAY_SECONDS", 3600.0)
    pair[1].kill()
    try:
        assert _found(store) == {stored} and _states(store) == {"away"}
        monkeypatch.setattr(pool_and_replicas, "AWAY_SECONDS", 0.0)
        store._database.replicas._pools[0].away_until = 1.0
        assert _found(store) == {stored}, "tried, and still away"
    finally:
        pair[1].start()
    _until_replayed(*pair)
    assert _found(store) == {stored} and _states(store) == {"in use"}


def test_a_replica_cut_off_in_the_middle_of_an_answer_is_not_noticed(
    pair: tuple[PostgresProcess, PostgresProcess], store: PostgresStore
) -> None:
    requested = []

    def ask() -> bool:
        with store._database.read() as connection:
            follows = connection.execute("SELECT pg_is_in_recovery()").fetchall() == [(True,)]
            requested.append(follows)
            if follows:
                _cut_all(pair[1])
            connection.execute("SELECT 1")
            return follows

    assert store._database.on_replica(ask) is False
    assert requested == [True, False] and store._database.replicas.fallbacks == 1


def test_what_was_promoted_goes_on_answering(primary: str) -> None:
    """A server that follows nobody is as far as it can be."""
    once = make_conninfo(primary, application_name="once a replica")
    with closing(PostgresStore(primary, space="promoted", replicas=[once])) as store:
        stored = store.put([make_draft("walnut")], NOW)[0].id
        assert _found(store) == {stored} and _states(store) == {"in use"}


def test_an_address_of_a_replica_that_is_none_is_refused_without_repeating_it(primary: str) -> None:
    with pytest.raises(InvalidInput) as error:
        PostgresStore(primary, replicas=["postgresql://ann:x@swordfish@there/team"])
    assert "swordfish" not in error.value.message


def test_a_connection_whose_server_became_a_replica_is_changed_for_one_that_takes_writes(
    pair: tuple[PostgresProcess, PostgresProcess], other: PostgresStore
) -> None:
    _until_replayed(*pair)
    # As a service leaves it that turns a primary into a replica without ending its sessions.
    left = [PostgresConnection.connect(pair[1].address(DATABASE), autocommit=True) for _ in range(2)]
    with closing(PostgresStore(any_of(pair, DATABASE))) as store:
        store._database._pool._idle.append(left[0])
        assert store.put([make_draft("written")], NOW)[0].id and left[0].closed
    other._database._pool._idle.append(left[1])
    with pytest.raises(StoreReadOnly, match="does not accept writes"):
        other.put([make_draft("written nowhere else")], NOW)


def test_where_only_replicas_are_left_whoever_asks_is_told_to_promote_one(
    pair: tuple[PostgresProcess, PostgresProcess], primary: str
) -> None:
    with pytest.raises(StoreUnavailable) as error:
        PostgresStore(any_of([pair[1], pair[1]], DATABASE))
    assert "promote" in error.value.hint


def _found(store: PostgresStore) -> set[int]:
    return {hit.item_id for hit in store.search_text(parse_query("walnut", {}), Scope(), 10).hits}


def _states(store: PostgresStore) -> set[str]:
    return set(store._database.replicas.states().values())


@contextlib.contextmanager
def _standing_still(primary: PostgresProcess, replica: PostgresProcess) -> Iterator[None]:
    """Let a replica have all that was written by now, and apply nothing of what it receives from then on."""
    _until_replayed(primary, replica)
    replica.run("SELECT pg_wal_replay_pause()")
    try:
        _until(replica, "SELECT pg_get_wal_replay_pause_state() = 'paused'")
        yield
    finally:
        replica.run("SELECT pg_wal_replay_resume()")


def _until_replayed(primary: PostgresProcess, replica: PostgresProcess) -> None:
    """Return when the replica has all that the primary has."""
    # An empty transaction that is waited for brings all before it to the disk, and on its way.
    [(place,)] = primary.run(
        "SET synchronous_commit = on", "SELECT pg_logical_emit_message(true, '', '')", "SELECT pg_current_wal_lsn()"
    )
    _until(replica, f"SELECT pg_last_wal_replay_lsn() >= '{place}'")


def _until(server: PostgresProcess, question: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        until(lambda: connection.execute(question.encode()).fetchall() == [(True,)])


def _cut_all(server: PostgresProcess) -> None:
    server.run(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{DATABASE}'")
