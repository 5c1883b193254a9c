"""With the built-in model: what means the same is found, and the semantic signal is a cosine."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.dialects.conftest import calling
from tests.dialects.test_context_scores import ROUNDING, with_query

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_all

NOTES = [
    "Sessions are kept in Redis and expire after thirty days",
    "The checkout page computes sales tax per state",
    "Images are resized by a background worker",
]


@pytest.mark.promise("kiro:search:semantic")
def test_a_question_without_a_shared_word_finds_its_answer(memory_with_model: LocalMemory) -> None:
    remember_all(memory_with_model, [NewItem(content=text, project="shop") for text in NOTES])
    memory_with_model.embeddings.catch_up()
    found = calling(memory_with_model)("search", query="how long does a login last")["observations"]
    assert found[0]["text"] == NOTES[0]


def test_operators_stay_strict_with_meaning_at_hand(memory_with_model: LocalMemory) -> None:
    remember_all(memory_with_model, [NewItem(content=text, project="shop") for text in NOTES])
    memory_with_model.embeddings.catch_up()
    found = calling(memory_with_model)("search", query="login OR tax")["observations"]
    assert [observation["text"] for observation in found] == [NOTES[1]]


def test_the_semantic_signal_is_the_cosine_of_question_and_item(memory_with_model: LocalMemory) -> None:
    stored = remember_all(memory_with_model, [NewItem(content=text, project="shop") for text in NOTES])
    memory_with_model.embeddings.catch_up()
    query = "how long does a login last"
    items = calling(memory_with_model)("get_context", project="shop", query=query)["items"]
    question = memory_with_model.embeddings.embed_query(query)
    assert question is not None
    for item in items:
        assert item["score"] == pytest.approx(with_query(item["signals"]), abs=ROUNDING)
        text = NOTES[[entry.id for entry in stored].index(item["id"])]
        vector = memory_with_model.embeddings.embed_query(text)
        assert vector is not None
        assert item["signals"]["semantic"] == pytest.approx(max(0.0, float(np.dot(question, vector))), abs=0.02)


def test_a_question_that_repeats_an_item_scores_no_more_than_1(memory_with_model: LocalMemory) -> None:
    remember_all(memory_with_model, [NewItem(content=NOTES[0], project="shop", type="decision")])
    memory_with_model.embeddings.catch_up()
    (item,) = calling(memory_with_model)("get_context", project="shop", query=NOTES[0])["items"]
    assert item["signals"]["semantic"] == pytest.approx(1.0, abs=0.02)
    assert item["signals"]["semantic"] <= 1.0
    assert item["score"] <= 1.0
    assert math.isclose(item["signals"]["fts5"], 1.0, abs_tol=0.01)
