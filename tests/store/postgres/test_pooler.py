"""Behind a pooler of connections, as managed services have them, everything is as without one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from tests.postgres_server import PostgresServer
from tests.store.postgres.pooling import CONNECTIONS, Pooler, pooler

from commonplace.config import Settings
from commonplace.memory.check_and_repair import check_store
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember_all
from commonplace.model import Scope
from commonplace.store.postgres.pool_and_replicas import Pool
from commonplace.store.postgres.store import PostgresStore

SUBJECTS = "walrus iceberg billing invoice retry backoff cache eviction deploy rollback".split()


@pytest.fixture
def between(url: str) -> Iterator[Pooler]:
    with pooler(url) as lending:
        yield lending


def found(memory: LocalMemory, question: str) -> list[tuple[int, float]]:
    return [(hit.item.id, hit.relevance) for hit in recall(memory, question, Scope(), 10).hits]


def test_every_connection_tells_whether_a_pooler_lies_between(url: str, between: Pooler) -> None:
    for address, prepares in ((url, True), (between.url, False)):
        with closing(Pool(address).connect()) as connection:
            assert (connection.prepare_threshold is not None) is prepares


def test_a_memory_answers_through_a_pooler_as_it_does_without(url: str, between: Pooler, settings: Settings) -> None:
    texts = [f"Note {n}: the {SUBJECTS[n % 10]} was changed with the {SUBJECTS[n * 7 % 10]}" for n in range(60)]
    with closing(open_memory(replace(settings, database_url=between.url))) as memory:
        remember_all(memory, [NewItem(text, project="my-api") for text in texts])
        with ThreadPoolExecutor(4) as many:
            # Twice: what was prepared the first time would be asked of a connection that does not have it.
            through = list(many.map(lambda subject: found(memory, subject), SUBJECTS * 2))
        assert check_store(memory) == []
    assert between.turns > 10 * CONNECTIONS
    with closing(open_memory(replace(settings, database_url=url))) as memory:
        assert [found(memory, subject) for subject in SUBJECTS] * 2 == through and all(through)


def test_a_pooler_in_front_of_an_empty_database(postgres: PostgresServer, bare: str) -> None:
    with pooler(bare) as between, closing(PostgresStore(between.url)) as store:
        assert store.counts().items == {}
        assert store.describe()["engine"] == "postgres"
