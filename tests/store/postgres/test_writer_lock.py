"""Writers of one space take turns on the server, whatever transactions are like there by default."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest
from tests.postgres_server import PostgresServer

from commonplace.model import Draft, SessionScope
from commonplace.store.postgres.store import PostgresStore

WRITERS, WAIT = 4, 60


@pytest.fixture(params=["read committed", "repeatable read", "serializable"])
def url(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[str]:
    """A database whose transactions are isolated so, unless they say otherwise."""
    name = "commonplace_taking_turns"
    made = postgres.new_database(name)
    postgres.run(f"ALTER DATABASE {name} SET default_transaction_isolation = '{request.param}'")
    yield made
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")


def test_who_waited_sees_what_was_written_before(url: str) -> None:
    begin = Barrier(WRITERS, timeout=WAIT)

    def write(number: int) -> None:
        with closing(PostgresStore(url)) as store:
            begin.wait()
            for n in range(5):
                body = f"{number} says {n}"
                digest = hashlib.sha256(body.encode()).digest()
                draft = Draft("message", "message", "", body, digest, project=f"p{n}", session=f"s{n}", created_ms=1)
                store.put([draft], 1)

    with ThreadPoolExecutor(WRITERS) as pool:
        for written in [pool.submit(write, n) for n in range(WRITERS)]:
            written.result(WAIT)
    with closing(PostgresStore(url)) as store:
        sessions = store.latest_sessions(SessionScope(), 9)
        assert {session.key: session.messages for session in sessions} == {f"s{n}": WRITERS for n in range(5)}
