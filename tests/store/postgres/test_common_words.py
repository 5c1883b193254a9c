"""Words that stand in a great many rows: both engines take the same ones for common, and do the same with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.contract.conftest import make_draft
from tests.store.postgres.test_same_answers import ask

from commonplace.model import Scope
from commonplace.store.postgres import text_query
from commonplace.store.postgres.store import PostgresStore
from commonplace.store.protocol import Store
from commonplace.store.sqlite.store import SqliteStore
from commonplace.text import query as query_words

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

NOW = 1_742_049_000_000
ITEMS = 200
# Each stands in every so many of the items.
WORDS = {"river": 1, "mountain": 2, "valley": 3, "forest": 4, "meadow": 8, "glacier": 20, "harbour": 67, "desert": 500}


def numbered_text(number: int) -> str:
    return " ".join(word for word, every in WORDS.items() if number % every == 0) + f" number{number}"


def few(patch: pytest.MonkeyPatch) -> None:
    """Let a word be common that stands in 20 of some hundred rows."""
    patch.setattr(query_words, "COMMON_LEAST", 20)
    patch.setattr(text_query, "REMEMBERED_FROM", 20)


@pytest.fixture(scope="module")
def pair(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    folder: Path = tmp_path_factory.mktemp("common")
    stores: tuple[Store, Store] = (SqliteStore(folder / "store.db"), PostgresStore(postgres.database(folder)))
    with pytest.MonkeyPatch.context() as patch:
        few(patch)
        for store in stores:
            projects = ("alpha", "beta")
            store.put([make_draft(numbered_text(n), project=projects[n % 2], at=NOW + n) for n in range(1, ITEMS)], NOW)
        yield stores
    for store in stores:
        store.close()
    postgres.leave(folder)


@given(
    words=st.lists(st.sampled_from([*WORDS, "number7", "nowhere"]), min_size=1, max_size=5, unique=True),
    scope=st.sampled_from((Scope(), Scope(project="alpha"), Scope(kinds=("memory",)))),
    count=st.booleans(),
)
@hypothesis_settings(max_examples=150)
def test_the_same_is_found_with_and_by_common_words(
    pair: tuple[Store, Store], words: list[str], scope: Scope, count: bool
) -> None:
    first, second = (ask(store, " ".join(words), scope, count=count) for store in pair)
    assert (first.hits, first.total) == (second.hits, second.total)
    # What is asked about beside the hits is inside the scope, or of no interest.
    inside = {passage for passage, _item, _score in first.hits} if scope.project else first.found.keys()
    assert {p: first.found.get(p) for p in inside} == {p: second.found.get(p) for p in inside}


def test_what_was_counted_is_forgotten_when_much_has_changed(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch)
    stores: tuple[Store, Store] = (SqliteStore(tmp_path / "store.db"), PostgresStore(postgres.database(tmp_path)))
    for store in stores:
        store.put([make_draft(numbered_text(n), at=NOW + n) for n in range(1, ITEMS)], NOW)
        before = ask(store, "glacier meadow", Scope())
        store.put([make_draft(f"glacier {n}", at=NOW + n) for n in range(ITEMS)], NOW)
        assert ask(store, "glacier meadow", Scope()) != before
    first, second = (ask(store, "glacier meadow", Scope()) for store in stores)
    assert first == second
    for store in stores:
        store.close()
    postgres.leave(tmp_path)
