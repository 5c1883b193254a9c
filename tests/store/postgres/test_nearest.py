"""The nearest vectors: those of a small space are kept whole; of a large one the signs of the newest are compared here,
and the older ones by the server's index.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.contract.conftest import make_draft

from commonplace.model import Scope
from commonplace.store.postgres import vector_search
from commonplace.store.postgres.store import PostgresStore
from commonplace.store.protocol import Store
from commonplace.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from tests.postgres_server import PostgresServer

NOW = 1_742_049_000_000
ITEMS, DIM = 240, 100
SCOPES = (Scope(), Scope(project="alpha"), Scope(types=("rule",)), Scope(kinds=("memory",), tag="zoo"))


def some_vectors(count: int, seed: int) -> NDArray[float32]:
    made = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    unit: NDArray[float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def embed_all(store: Store, seed: int) -> None:
    """Give what waits its vectors, a few at a time."""
    while jobs := store.claim_jobs("me", 40, NOW, 60_000):
        # The same for the same passage, in whatever order they come.
        made = np.concatenate([some_vectors(1, seed + job.passage.id) for job in jobs])
        store.finish_jobs(jobs, made, "me")


@pytest.fixture(params=[5, 3_000], ids=["large", "small"], autouse=True)
def small_space(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The space is larger than what is kept whole, or is not."""
    monkeypatch.setattr(vector_search, "SMALL_SPACE", request.param)


@pytest.fixture
def pair(postgres: PostgresServer, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    stores: tuple[Store, Store] = (SqliteStore(tmp_path / "store.db"), PostgresStore(postgres.database(tmp_path)))
    for store in stores:
        store.put(
            [
                make_draft(
                    f"said {n}",
                    kind=("memory", "observation")[n % 2],
                    type=("note", "rule")[n % 3 % 2],
                    project=(None, "alpha", "beta")[n % 3],
                    tags=("zoo",) if n % 5 == 0 else (),
                    at=NOW + n,
                )
                for n in range(ITEMS)
            ],
            NOW,
        )
        store.use_model("small", DIM)
    yield stores
    for store in stores:
        store.close()
    postgres.leave(tmp_path)


@pytest.mark.parametrize("few", [10, 1_000])
def test_what_the_index_has_is_found_beside_what_it_has_not(
    pair: tuple[Store, Store], postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(vector_search, "LOOSE", 60)
    monkeypatch.setattr(vector_search, "FEW", few)
    for store in pair:
        embed_all(store, 1)
    with psycopg.connect(postgres.database(tmp_path)) as connection:
        assert connection.execute("SELECT count(*) FROM vectors WHERE indexed").fetchall() == [(ITEMS - 60,)]
    for number in range(20):
        question = some_vectors(1, 1_000 + number)[0]
        for scope in SCOPES:
            first, second = ([hit.passage_id for hit in s.search_vectors(question, scope, 10)] for s in pair)
            assert first == second


def test_what_has_gone_or_changed_is_not_found_as_it_was(pair: tuple[Store, Store]) -> None:
    for store in pair:
        embed_all(store, 1)
        assert len(store.search_vectors(some_vectors(1, 7)[0], Scope(), ITEMS)) == ITEMS
        store.forget(list(range(1, 151)), NOW)
        store.put([make_draft("new", at=NOW)], NOW)
        embed_all(store, 2)
    for number in range(10):
        question = some_vectors(1, 2_000 + number)[0]
        first, second = ([hit.item_id for hit in s.search_vectors(question, Scope(), 20)] for s in pair)
        assert first == second
        assert min(first) > 150


def test_what_another_server_took_away_or_changed_is_seen_at_once(
    pair: tuple[Store, Store], postgres: PostgresServer, tmp_path: Path
) -> None:
    here, there = pair[1], PostgresStore(postgres.database(tmp_path))
    there.use_model("small", DIM)
    embed_all(here, 1)
    question = some_vectors(1, 7)[0]
    (first, second, *_rest) = here.search_vectors(question, Scope(), 3)
    there.forget([first.item_id], NOW)
    there.rewrite(second.item_id, make_draft("said otherwise", kind="observation", at=NOW), NOW)

    def both() -> tuple[list[int], dict[int, float]]:
        near = [hit.passage_id for hit in here.search_vectors(question, Scope(), ITEMS)]
        return near, here.cosines(question, [first.passage_id, second.passage_id])

    near, known = here.snapshot(both)
    assert len(near) == ITEMS - 2 and not known
    embed_all(there, 2)
    near, known = here.snapshot(both)
    assert len(near) == ITEMS - 1
    # At one moment or by itself, the vector is the new one.
    (again,) = here.passages_of([second.item_id])[second.item_id]
    at_once = here.snapshot(lambda: both() and here.cosines(question, [again]))
    assert at_once == pytest.approx(here.cosines(question, [again]), abs=1e-6)
    there.close()


def test_a_vector_with_the_number_of_one_that_its_server_lost_is_found(
    pair: tuple[Store, Store], postgres: PostgresServer, tmp_path: Path
) -> None:
    """As after a crash where commits were not waited for, or on a replica that had not got everything."""
    store, url = pair[1], postgres.database(tmp_path)
    embed_all(store, 1)
    question = some_vectors(1, 5_000)
    assert store.search_vectors(question[0], Scope(), 3)
    with psycopg.connect(url) as connection:
        lost = connection.execute("DELETE FROM vectors WHERE seq = (SELECT max(seq) FROM vectors) RETURNING seq")
        again = "SELECT setval(pg_get_serial_sequence('vectors', 'seq'), %s, false)"
        connection.execute(again, lost.fetchone())
    postgres.run(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        f" WHERE datname = '{conninfo_to_dict(url)['dbname']}'"
    )
    [stored] = store.put([make_draft("said afterwards")], NOW)
    store.finish_jobs(store.claim_jobs("me", 1, NOW, 60_000), question, "me")
    assert [hit.item_id for hit in store.search_vectors(question[0], Scope(), 1)] == [stored.id]
