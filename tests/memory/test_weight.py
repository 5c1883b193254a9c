"""Weight: importance, trust and use decide between hits that answer about equally well, and `why` shows their parts."""

from __future__ import annotations

import pytest
from tests.conftest import Clock

from commonplace.memory.authors import for_capture, with_writer
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import Hit, recall, record_use
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Author, Scope
from commonplace.ranking.scoring import IMPORTANCE_WEIGHT, TRUST_WEIGHT, USE_WEIGHT, Weight, hit_weight

PERSON = Author("anna", "person")
WORDS = "zebra feeding schedule"


def put(memory: LocalMemory, text: str, importance: float | None = None, review: str | None = None) -> int:
    return remember(memory, NewItem(text, type="fact", importance=importance, review=review)).id


def hits(memory: LocalMemory, question: str) -> list[Hit]:
    return list(recall(memory, question, Scope()))


def ids(memory: LocalMemory, question: str) -> list[int]:
    return [hit.item.id for hit in hits(memory, question)]


def test_each_part_is_bounded_and_nothing_unknown_counts() -> None:
    assert hit_weight(None, 0.6, 0.0) == Weight()
    most, least = hit_weight(10.0, 1.0, 1000.0), hit_weight(0.0, 0.0, 0.0)
    assert most.importance == -least.importance == IMPORTANCE_WEIGHT
    assert most.use == USE_WEIGHT and least.use == 0.0
    assert abs(most.trust) <= TRUST_WEIGHT and abs(least.trust) <= TRUST_WEIGHT


@pytest.mark.parametrize("order", [(10.0, 1.0), (1.0, 10.0)])
def test_of_nearly_identical_texts_the_important_one_is_first(
    memory_with_model: LocalMemory, order: tuple[float, float]
) -> None:
    texts = ("The staging database is wiped every Sunday night", "The staging database gets wiped each Sunday night")
    made = {put(memory_with_model, text, importance): importance for text, importance in zip(texts, order, strict=True)}
    found = ids(memory_with_model, "when is the staging database wiped?")
    assert [made[id_] for id_ in found] == [10.0, 1.0]


def test_of_two_that_answer_alike_the_agreed_one_is_before_the_proposed(memory: LocalMemory) -> None:
    anna = with_writer(memory, PERSON)
    agreed = put(anna, "The zebra is fed at noon by Tom")
    proposed = put(for_capture(anna, "cursor"), "The zebra is fed hay with care", review="proposed")
    assert ids(memory, "zebra fed") == [agreed, proposed]
    assert hits(memory, "zebra fed")[1].why["trust"] < 0 < hits(memory, "zebra fed")[0].why["trust"]


def test_what_was_useful_is_before_what_was_not_until_that_is_long_ago(memory: LocalMemory, clock: Clock) -> None:
    old, new = put(memory, "The zebra eats oats daily"), put(memory, "The zebra likes hay mostly")
    assert ids(memory, "zebra") == [new, old]
    for _time in range(6):
        record_use(memory, [get_item(memory, old)])
        clock.forward(minutes=61)
    assert ids(memory, "zebra") == [old, new]

    def used() -> float:
        return next(hit.why["use"] for hit in hits(memory, "zebra") if hit.item.id == old)

    before = used()
    clock.forward(days=60)
    assert 0 < used() < before
    clock.forward(days=3650)
    assert set(ids(memory, "zebra")) == {old, new}, "what is old and unused is still found"


def test_weight_does_not_beat_what_answers_better(memory: LocalMemory) -> None:
    answer = put(memory, "The zebra feeding schedule starts at noon", importance=0.0)
    other = put(memory, "The schedule of the night guards is on the wall", importance=10.0)
    record_use(memory, [get_item(memory, other)])
    assert ids(memory, WORDS)[0] == answer


def test_why_adds_up_to_the_score_of_the_order(memory_with_model: LocalMemory) -> None:
    put(memory_with_model, "The zebra is fed at noon", importance=9.0)
    put(memory_with_model, "Sessions live in Redis")
    (first, *_rest) = hits(memory_with_model, "when is the zebra fed?")
    assert {"words", "meaning", "importance"} <= set(first.why)
    assert all(value for value in first.why.values())
    without_reading = sum(first.why.values()) - first.why["reading"]
    assert without_reading == pytest.approx(first.semantic + 0.4 * first.lexical, abs=0.4)
