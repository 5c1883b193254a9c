"""Token vectors: made with the vectors in the background and before an answer, and compared with a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from numpy import float32
from numpy.typing import NDArray
from tests.conftest import Clock
from tests.polling import until
from tests.raw_sql import behind

from commonplace.errors import EmbedderUnavailable
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.embedding_worker import Embeddings
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import Scope
from commonplace.store.protocol import Store

NOTES = ("The walrus sleeps on ice", "Sessions live in Redis for 30 days", "Invoices are sent on Mondays")


class WordEmbedder:
    """Points in a direction for each word, and keeps the words of a text as its token vectors."""

    name, dim, is_local = "words", 64, True

    def __init__(self) -> None:
        self.fails = False
        self.compared: list[int] = []
        self.prepared: list[str] = []

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        vectors = np.full((len(texts), self.dim), 0.01, np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, sum(word.encode()) % self.dim] += 1.0
        unit: NDArray[float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def embed_with_tokens(
        self, texts: Sequence[str], before: Sequence[str] = ()
    ) -> tuple[NDArray[float32], list[bytes]]:
        assert len(before) == len(texts)
        return self.embed(texts, before), [text.lower().encode() for text in texts]

    def compare_tokens(self, text: str, tokens: Sequence[bytes]) -> Sequence[float]:
        if self.fails:
            raise EmbedderUnavailable("It is away.")
        self.compared.append(len(tokens))
        words = text.lower().split()
        found = [set(one.decode("utf-8").split()) for one in tokens]
        return [float("nan") if "nan" in one else sum(word in one for word in words) / len(words) for one in found]

    def prepare_to_compare(self, text: str) -> None:
        self.prepared.append(text)
        if self.fails:
            raise EmbedderUnavailable("It is away.")

    def state(self) -> str:
        return "ready"


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def words(memory: LocalMemory, clock: Clock, embedder: WordEmbedder) -> Iterator[LocalMemory]:
    """A memory whose embedder makes token vectors."""
    opened = replace(memory, embeddings=Embeddings(cast("Store", memory.store), embedder, clock))
    yield opened
    opened.embeddings.stop()


def write(memory: LocalMemory) -> list[int]:
    return [stored.id for stored in remember_all(memory, [NewItem(note, project="p") for note in NOTES])]


def tokens_of(memory: LocalMemory, item_ids: Sequence[int]) -> dict[int, bytes]:
    passages = [passage for found in memory.store.passages_of(item_ids).values() for passage in found]
    return memory.store.token_vectors(passages)


def texts(tokens: Mapping[int, bytes]) -> set[str]:
    return {one.decode() for one in tokens.values()}


def test_the_worker_stores_them_with_the_vectors(words: LocalMemory) -> None:
    words.embeddings.start()
    ids = write(words)
    until(lambda: words.store.counts().vectors == len(NOTES))
    assert texts(tokens_of(words, ids)) == {note.lower() for note in NOTES}
    forget_items(words, ids[:1])
    assert texts(tokens_of(words, ids)) == {note.lower() for note in NOTES[1:]}


def test_what_is_embedded_before_an_answer_has_them_too(words: LocalMemory) -> None:
    ids = write(words)
    assert words.embeddings.catch_up(limit=1) == 1
    assert recall(words, "walrus", Scope()).waiting == 0
    assert len(tokens_of(words, ids)) == len(NOTES)


def test_a_question_is_compared_word_by_word(words: LocalMemory) -> None:
    ids = write(words)
    words.embeddings.catch_up()
    tokens = tokens_of(words, ids)
    (walrus,) = words.store.passages_of(ids[:1])[ids[0]]
    scores = words.embeddings.compare_tokens("where the walrus sleeps", tokens)
    assert scores.keys() == tokens.keys()
    assert max(scores, key=lambda passage: scores[passage]) == walrus and scores[walrus] == 0.75
    assert words.embeddings.compare_tokens("walrus", {}) == {}


@pytest.mark.parametrize("damaged", [1, 2, 40])
def test_what_cannot_be_read_is_left_out(words: LocalMemory, embedder: WordEmbedder, damaged: int) -> None:
    ids = [remember(words, NewItem(f"Note {n} about the harbour")).id for n in range(40)]
    words.embeddings.catch_up()
    nonsense = "'\\xff'" if words.settings.database_url else "x'ff'"
    with behind(words.settings) as ask:
        ask(f"UPDATE token_vectors SET tokens = {nonsense} WHERE passage_id <= {damaged}")
    tokens = tokens_of(words, ids)
    assert len(tokens) == 40
    scores = words.embeddings.compare_tokens("harbour", tokens)
    assert scores == dict.fromkeys(sorted(tokens)[damaged:], 1.0)
    assert words.embeddings.state == "ready" and (damaged == 40 or len(embedder.compared) < 20)


def test_a_score_that_is_no_number_is_left_out(words: LocalMemory) -> None:
    assert words.embeddings.compare_tokens("ice", {1: b"ice", 2: b"nan"}) == {1: 1.0}


def test_an_embedder_that_cannot_work_compares_nothing_and_says_why(words: LocalMemory, embedder: WordEmbedder) -> None:
    embedder.fails = True
    assert words.embeddings.compare_tokens("ice", {1: b"ice"}) == {}
    assert words.embeddings.state == "failed: It is away."
    embedder.fails = False
    assert words.embeddings.compare_tokens("ice", {1: b"ice"}) == {1: 1.0}
    assert words.embeddings.state == "ready"


class VectorsOnly:
    """An embedder that knows nothing of token vectors."""

    name, dim, is_local = "vectors only", 8, True

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        return np.full((len(texts), self.dim), self.dim**-0.5, np.float32)

    def state(self) -> str:
        return "ready"


def test_without_such_an_embedder_there_are_none(memory: LocalMemory, clock: Clock) -> None:
    with_vectors = replace(memory, embeddings=Embeddings(cast("Store", memory.store), VectorsOnly(), clock))
    ids = write(with_vectors)
    assert with_vectors.embeddings.catch_up() == len(NOTES)
    assert tokens_of(with_vectors, ids) == {}
    for embeddings in (with_vectors.embeddings, memory.embeddings):
        assert embeddings.compare_tokens("ice", {1: b"ice"}) == {}


def test_a_search_prepares_while_it_looks_for_candidates(words: LocalMemory, embedder: WordEmbedder) -> None:
    write(words)
    assert recall(words, "where the walrus sleeps", Scope()).hits
    # The first question finds a model that the store does not know yet: nothing is done ahead.
    assert recall(words, "what is in the harbour", Scope()).hits
    until(lambda: embedder.prepared == ["what is in the harbour"])


def test_what_is_compared_as_a_whole_is_not_prepared(words: LocalMemory, embedder: WordEmbedder) -> None:
    write(words)
    recall(words, "where the walrus sleeps", Scope())
    assert words.embeddings.embed_query("the harbour freezes") is not None
    recall(words, "what is in the harbour", Scope())
    until(lambda: bool(embedder.prepared))
    assert embedder.prepared == ["what is in the harbour"]


def test_what_fails_ahead_fails_where_it_is_needed(words: LocalMemory, embedder: WordEmbedder) -> None:
    write(words)
    recall(words, "where the walrus sleeps", Scope())
    embedder.fails = True
    assert recall(words, "what is in the harbour", Scope()).by_meaning
    assert words.embeddings.state == "failed: It is away."
    embedder.fails = False
    assert recall(words, "what is in the harbour", Scope()).hits and words.embeddings.state == "ready"
