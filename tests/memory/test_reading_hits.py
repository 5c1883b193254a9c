"""The best hits are read together with the question; without the cross-encoder search goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.conftest import Clock
from torture.embedding_endpoint import MODEL, endpoint
from torture.writers import text_of

from commonplace.config import Settings
from commonplace.embed.cross_encoder import CrossEncoder
from commonplace.memory.local_memory import LocalMemory, for_project, open_memory
from commonplace.memory.recall import Hit, recall
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.search_candidates import parse_question
from commonplace.model import Scope

# The newest value has the fewest words of the question.
NOTES = (
    "Sessions end after 15 minutes without a request, says the security review.",
    "The session table has an index on the user since the slow logins in March.",
    "Who is logged in stays so for a week from now on; the review agreed.",
    "Log files of sessions are deleted after 30 days.",
)
QUESTION = "How long do users stay signed in?"


@pytest.fixture
def filled(settings: Settings, clock: Clock) -> Iterator[LocalMemory]:
    memory = open_memory(replace(settings, embedder="builtin"), clock)
    remember_all(memory, [NewItem(text, project="api") for text in NOTES])
    memory.embeddings.catch_up()
    yield memory
    memory.close()


def order(memory: LocalMemory) -> list[str]:
    return [hit.item.body for hit in recall(memory, QUESTION, Scope(), 4).hits]


def scores(memory: LocalMemory) -> list[float]:
    return [hit.relevance for hit in recall(memory, QUESTION, Scope(), 4).hits]


def test_reading_changes_scores_and_keeps_them_in_order(filled: LocalMemory) -> None:
    unread = replace(filled, cross_encoder=None)
    assert scores(filled) != scores(unread)
    assert scores(filled) == sorted(scores(filled), reverse=True)
    assert order(filled)[0] == NOTES[2]


def test_the_same_is_read_in_a_limited_view(filled: LocalMemory) -> None:
    assert order(for_project(filled, "api")) == order(filled)


def test_a_cross_encoder_that_cannot_be_loaded_costs_only_its_opinion(filled: LocalMemory, tmp_path: Path) -> None:
    broken = replace(filled, cross_encoder=CrossEncoder(folder=tmp_path))
    hits = recall(broken, QUESTION, Scope(), 4).hits
    assert hits[0].item.body == NOTES[2] and {hit.answer for hit in hits} == {None}


def read_thoroughly(memory: LocalMemory, question: str) -> tuple[Hit, ...]:
    parsed = replace(parse_question(memory, question), thorough=True)
    return recall(memory, parsed, Scope(), 4).hits


def test_queries_with_operators_are_not_read(filled: LocalMemory, tmp_path: Path) -> None:
    broken = replace(filled, cross_encoder=CrossEncoder(folder=tmp_path))
    query = "session* OR logged"
    with_it, without = (recall(memory, query, Scope(), 4).hits for memory in (filled, broken))
    assert [hit.relevance for hit in with_it] == [hit.relevance for hit in without]


def test_words_that_the_best_hit_has_all_need_no_reading(filled: LocalMemory) -> None:
    answers = {
        query: [hit.answer for hit in read_thoroughly(filled, query)]
        for query in ("security review", "What does the security review say?", "security budget")
    }
    assert answers["security review"] and set(answers["security review"]) == {None}
    assert None not in answers["What does the security review say?"][:1]
    assert None not in answers["security budget"][:1]


def test_words_that_neither_model_nor_memory_knows_are_not_read(filled: LocalMemory) -> None:
    found = {word: read_thoroughly(filled, word) for word in ("zzqqxxyy", "ERR_4471_QX", "authentication")}
    for word in ("zzqqxxyy", "ERR_4471_QX"):
        assert all(hit.answer is None and hit.relevance < 0.3 for hit in found[word])
    assert found["authentication"][0].answer is not None


def test_settings_turn_it_off(settings: Settings, clock: Clock) -> None:
    for off in (replace(settings, embedder="builtin", reranker="off"), replace(settings, embedder="off")):
        memory = open_memory(off, clock)
        assert memory.cross_encoder is None
        memory.close()


def test_what_has_every_word_is_found_whatever_reading_says(settings: Settings, clock: Clock) -> None:
    with endpoint() as address:
        other = replace(settings, embedder="endpoint", endpoint_url=address, endpoint_model=MODEL)
        memory = open_memory(other, clock)
        for seed in range(8):
            texts = [text_of(Random(seed), f"kept{seed}n", number) for number in range(10)]
            remember_all(memory, [NewItem(text, project=f"p{seed}") for text in texts])
        memory.embeddings.catch_up()
        for seed in range(8):
            name = f"wkept{seed}nx1"
            found = [hit.item.body for hit in recall(memory, name, Scope(project=f"p{seed}"), 5).hits]
            assert any(text.startswith(f"{name} ") for text in found)
        memory.close()


def test_the_first_is_read_even_if_it_is_far_better_than_the_others(filled: LocalMemory) -> None:
    clear = recall(filled, "When are the log files of sessions deleted?", Scope(), 4).hits
    assert clear[0].item.body == NOTES[3] and clear[0].answer is not None
    assert {"tokens", "reading"} <= set(clear[0].why)


def test_words_that_only_resemble_the_question_are_unlikely_to_answer(filled: LocalMemory) -> None:
    remember_all(filled, [NewItem("Customers' passwords are hashed with bcrypt.", project="api")])
    filled.embeddings.catch_up()
    unlikely = max(hit.relevance for hit in recall(filled, "wifi password of the office", Scope(), 4).hits)
    assert unlikely < 0.25 < 0.35 < recall(filled, "how are passwords stored?", Scope(), 4).hits[0].relevance


def test_among_three_notes_too_what_only_resembles_the_question_is_unlikely_to_answer(
    settings: Settings, clock: Clock
) -> None:
    memory = open_memory(replace(settings, embedder="builtin"), clock)
    remember_all(memory, [NewItem("Customer passwords are hashed with argon2"), *map(NewItem, NOTES[:2])])
    memory.embeddings.catch_up()
    unlikely = max(hit.relevance for hit in recall(memory, "wifi password of the office", Scope(), 4).hits)
    assert unlikely < 0.25 < 0.35 < recall(memory, "how are passwords stored?", Scope(), 4).hits[0].relevance
    memory.close()
