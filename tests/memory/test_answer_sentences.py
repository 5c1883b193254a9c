"""Which sentence of a hit is marked as the one that answers."""

from __future__ import annotations

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.search_page import answer_sentences
from commonplace.model import Scope

GARDEN = (
    "We met in the garden on Tuesday. Does anybody know who waters the roses? "
    "Sessions are kept in Redis for thirty days. The gate was painted green."
)


def answers(memory: LocalMemory, question: str) -> list[str]:
    return list(answer_sentences(memory, question, recall(memory, question, Scope()).hits).values())


def test_the_words_decide_where_there_is_no_model(memory: LocalMemory) -> None:
    remember(memory, NewItem(GARDEN))
    assert answers(memory, "sessions kept in redis") == ["Sessions are kept in Redis for thirty days."]
    # A question is no answer, and neither is a sentence with one of the words.
    assert answers(memory, "who waters the roses") == []
    assert answers(memory, "tuesday redis roses gate") == []


def test_a_text_of_one_sentence_needs_no_mark(memory: LocalMemory) -> None:
    remember(memory, NewItem("Sessions are kept in Redis for thirty days."))
    assert answers(memory, "sessions kept in redis") == []


def test_a_single_word_asks_nothing(memory: LocalMemory) -> None:
    remember(memory, NewItem(GARDEN))
    assert answers(memory, "redis") == []


def test_the_model_reads_which_sentence_answers(memory_with_model: LocalMemory) -> None:
    remember(memory_with_model, NewItem(GARDEN))
    memory_with_model.embeddings.catch_up()
    assert answers(memory_with_model, "for how long do users stay logged in?") == [
        "Sessions are kept in Redis for thirty days."
    ]
