"""What is kept while nothing changes is read again as soon as anything did, here or in another process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.conftest import make_draft

from commonplace.model import Scope
from commonplace.store.sqlite import connection
from commonplace.store.sqlite.store import SqliteStore
from commonplace.text.query import plain_query

NOW = 1_742_049_000_000
SUMMARIES, EVENTS = Scope(kinds=("summary",)), Scope(kinds=("observation", "memory"))


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """Two of the same file."""
    both = SqliteStore(tmp_path / "store.db"), SqliteStore(tmp_path / "store.db")
    yield both
    for store in both:
        store.close()


def found(store: SqliteStore, word: str, scope: Scope) -> list[int]:
    return [hit.item_id for hit in store.search_text(plain_query(word), scope, 10).hits]


def test_another_kind_is_found_and_left_out_as_soon_as_there_is_one(stores: tuple[SqliteStore, SqliteStore]) -> None:
    ours, theirs = stores
    (event,) = ours.put([make_draft("the deploy waits")], NOW)
    for store in stores:
        assert found(store, "deploy", EVENTS) == [event.id]
        assert found(store, "deploy", SUMMARIES) == []
    (summary,) = theirs.put([make_draft("the deploy is done", kind="summary")], NOW)
    for store in stores:
        assert found(store, "deploy", EVENTS) == [event.id]
        assert found(store, "deploy", SUMMARIES) == [summary.id]


def test_what_waits_for_a_vector_is_counted_anew_after_each_write(stores: tuple[SqliteStore, SqliteStore]) -> None:
    ours, theirs = stores
    for number, writer in enumerate((ours, theirs, ours, theirs), 1):
        writer.put([make_draft(f"statement {number}")], NOW)
        assert [store.pending() for store in stores] == [number, number]
        assert [store.pending() for store in stores] == [number, number]


def test_in_a_snapshot_nothing_changes(stores: tuple[SqliteStore, SqliteStore]) -> None:
    ours, theirs = stores

    def read() -> tuple[int, int]:
        before = ours.pending()
        theirs.put([make_draft("written meanwhile")], NOW)
        return before, ours.pending()

    assert ours.snapshot(read) == (0, 0)
    assert ours.pending() == 1


def test_not_everything_is_kept(stores: tuple[SqliteStore, SqliteStore], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_UNCHANGED", 3)
    ours, _theirs = stores
    ours.put([make_draft(f"the deploy of part {n}", project=f"part-{n}") for n in range(8)], NOW)
    for n in range(8):
        assert len(found(ours, "deploy", Scope(project=f"part-{n}"))) == 1
