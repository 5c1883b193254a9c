"""A connection that is cut at any statement of a write: nothing half done, a clear error, and the next try works."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import psycopg
import pytest
from tests.contract.conftest import make_draft
from tests.store.postgres.cutting import Wire, wire

from commonplace.errors import StoreUnavailable
from commonplace.store.postgres.store import PostgresStore

NOW = 1_742_049_000_000
LONG = "A sentence about walnuts that is long enough to fill a line. " * 60

Write = Callable[[PostgresStore, int, str], object]
WRITES: dict[str, Write] = {
    "put": lambda store, _id, text: store.put([make_draft(f"{text} {LONG}")], NOW),
    "rewrite": lambda store, id_, text: store.rewrite(id_, make_draft(f"{text} {LONG}"), NOW + 1),
    "forget": lambda store, id_, _text: store.forget([id_], NOW + 1),
}


@pytest.fixture
def cable(url: str) -> Iterator[Wire]:
    with wire(url) as laid:
        yield laid


@pytest.mark.parametrize("after", [False, True], ids=["before it arrives", "after it was done"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_cut_at_any_statement_happens_or_does_not(url: str, cable: Wire, write: Write, after: bool) -> None:
    refused = 0
    with closing(PostgresStore(cable.url)) as store:
        for number in itertools.count(1):
            [stored] = store.put([make_draft(f"to be changed at {number}")], NOW)
            before = _contents(url)
            cable.cut_at(number, after=after)
            error = _error_of(partial(write, store, stored.id, f"cut at {number}"))
            happened = _contents(url) != before
            if error is None:
                # It was begun anew on another connection, or it was over before.
                assert happened
                if not cable.was_cut:
                    break
                continue
            refused += 1
            assert "writing it again is safe" in error.hint
            if happened:
                break
    assert refused > 2
    assert cable.was_cut is after, "only what was done may be there, and of that only all: its commit came last"


def _error_of(write: Callable[[], object]) -> StoreUnavailable | None:
    try:
        write()
    except StoreUnavailable as error:
        return error
    return None


def _contents(url: str) -> dict[str, list[str]]:
    """Every row of every table, as the server tells it."""
    tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    with psycopg.connect(url) as connection:
        return {
            name: [row for (row,) in connection.execute(f"SELECT t::text FROM {name} t ORDER BY 1".encode())]
            for (name,) in connection.execute(tables.encode()).fetchall()
        }
