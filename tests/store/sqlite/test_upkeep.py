"""Upkeep: what is broken behind the store's back is found, and mended from the rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.contract.conftest import THEN, make_draft
from tests.damage import INVALID_UTF8, damage_row

from commonplace.errors import StoreCorrupt, TimedOut
from commonplace.model import Scope
from commonplace.store.indexed_text import QUERY_COLUMNS
from commonplace.store.sqlite.store import SqliteStore
from commonplace.text.query import parse_query

Behind = Callable[[str], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """Three items, one of them cut in two, one forgotten; all but that one have vectors."""
    opened = SqliteStore(path, now_ms=THEN)
    drafts = [make_draft("apples"), make_draft(parts=["red pears", "green pears"]), make_draft("plums")]
    forgotten = opened.put(drafts, THEN)[2].id
    opened.forget([forgotten], THEN)
    opened.use_model("tiny", 8)
    jobs = opened.claim_jobs("w", 9, THEN, 1000)
    opened.finish_jobs(jobs, np.ones((len(jobs), 8), np.float32), "w", None, [b"tokens"] * len(jobs))
    yield opened
    opened.close()


@pytest.fixture
def behind(store: SqliteStore, path: Path) -> Behind:
    """Does something to the file that the store knows nothing of."""

    def do(script: str) -> None:
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            connection.execute(script).fetchall()

    return do


def found(store: SqliteStore, word: str) -> int:
    return len({hit.item_id for hit in store.search_text(parse_query(word, QUERY_COLUMNS), Scope(), 9).hits})


def test_a_healthy_store_has_nothing_to_complain_of(store: SqliteStore) -> None:
    state = store.index_state(10)
    assert store.file_problems(10) == ()
    assert (state.passages, state.wordless, state.vectorless, state.waiting, state.given_up, state.stray) == (
        3,
        *[0] * 5,
    )
    assert store.repair_text_index(100) == 0


def test_what_waits_is_not_missing(store: SqliteStore) -> None:
    store.put([make_draft("cherries")], THEN)
    state = store.index_state(10)
    assert (state.passages, state.waiting, state.vectorless, state.wordless) == (4, 1, 0, 0)


def test_given_up_vectors_are_told(store: SqliteStore, behind: Behind) -> None:
    store.put([make_draft("cherries")], THEN)
    behind("UPDATE jobs SET tries = 5")
    state = store.index_state(10)
    assert (state.waiting, state.given_up) == (0, 1)


@pytest.mark.parametrize("lost", ["rowid > 0", "rowid < 0", "1"])
def test_lost_words_are_found_and_mended_and_vectors_stay(store: SqliteStore, behind: Behind, lost: str) -> None:
    behind(f"DELETE FROM passages_fts WHERE {lost}")
    assert store.index_state(10).wordless > 0
    while store.repair_text_index(1):
        pass
    state = store.index_state(10)
    assert (state.wordless, state.stray, state.waiting, state.vectorless) == (0, 0, 0, 0)
    assert [found(store, word) for word in ("apples", "pears", "plums")] == [1, 1, 0]


def test_stray_rows_are_found_and_taken_away(store: SqliteStore, behind: Behind) -> None:
    behind("UPDATE items SET forgotten_ms = 1 WHERE body = 'apples'")
    assert store.index_state(10).stray == 2
    assert store.repair_text_index(100) == 2
    assert store.index_state(10).stray == 0
    assert found(store, "apples") == 0


def test_stray_token_vectors_are_found_and_taken_away(store: SqliteStore, behind: Behind) -> None:
    behind("DELETE FROM vectors WHERE passage_id = 1; UPDATE token_vectors SET model_id = 7 WHERE passage_id = 2")
    assert store.index_state(10).stray == 2
    assert [store.repair_text_index(1) for _ in range(3)] == [1, 1, 0]
    assert store.index_state(10).stray == 0
    assert store.token_vectors([1, 2, 3]) == {3: b"tokens"}


@pytest.mark.parametrize("value", ["NULL", "7", "'text'", INVALID_UTF8])
def test_a_value_that_is_no_token_vectors_is_not_read(store: SqliteStore, path: Path, value: str) -> None:
    damage_row(path, "token_vectors", 2, "tokens", value, key="passage_id")
    assert store.token_vectors([1, 2, 3]) == {1: b"tokens", 3: b"tokens"}
    assert store.file_problems(10)


def test_lost_vectors_are_found_and_made_again(store: SqliteStore, behind: Behind) -> None:
    behind("DELETE FROM vectors")
    assert store.index_state(10).vectorless == 3
    store.requeue_embeddings()
    state = store.index_state(10)
    assert (state.vectorless, state.waiting) == (0, 3)


def test_a_damaged_index_is_a_complaint_and_is_made_anew(store: SqliteStore, behind: Behind) -> None:
    behind("UPDATE passages_fts_data SET block = x'00ff00ff' WHERE id > 10")
    assert store.file_problems(10)
    with pytest.raises(StoreCorrupt):
        found(store, "apples")
    store.clear_text_index()
    while store.repair_text_index(100):
        pass
    assert store.file_problems(10) == ()
    assert [found(store, word) for word in ("apples", "pears", "plums")] == [1, 1, 0]


def test_a_check_does_not_take_for_ever(store: SqliteStore) -> None:
    store.put([make_draft(f"item {n} " + "words " * 50) for n in range(300)], THEN)
    with pytest.raises(TimedOut):
        store.index_state(-1)


def test_what_others_have_written_since_is_not_taken_for_damage(store: SqliteStore, path: Path) -> None:
    store.search_text(parse_query("apples", QUERY_COLUMNS), Scope(), 5)
    with contextlib.closing(SqliteStore(path)) as other:
        for number in range(100):
            other.put([make_draft(f"quinces {number}")], THEN)
    assert store.file_damage(quick=True) == [] and store.file_damage(quick=False) == []
    assert store.file_problems(60) == ()
