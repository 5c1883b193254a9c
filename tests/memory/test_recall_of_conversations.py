"""Recall of what people said: by whom, beside what, and with one number that orders and tells how likely."""

from __future__ import annotations

import pytest

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope

TALK = (
    ("Caroline", "I went to a pottery class last weekend."),
    ("Melanie", "Wow, Caroline! That is so cool, Caroline."),
    ("Melanie", "My kids and I painted a sunset by the lake."),
    ("Caroline", "Which adoption agency will you pick?"),
    ("Melanie", "The one downtown, they were very kind to us."),
    ("Caroline", "I bought new running shoes, purple ones."),
    ("Melanie", "I bought new running shoes as well, black ones."),
)


def talk(memory: LocalMemory, texts: tuple[tuple[str, str], ...] = TALK, project: str | None = None) -> None:
    messages = [
        NewMessage("user" if speaker == texts[0][0] else "assistant", text, 1_000_000 + n, {"name": speaker})
        for n, (speaker, text) in enumerate(texts)
    ]
    store_conversation(memory, NewConversation("A talk", messages, project=project))
    memory.embeddings.catch_up()


def recalled_texts(memory: LocalMemory, question: str) -> list[str]:
    return [hit.item.body for hit in recall(memory, question, Scope(), 7).hits]


@pytest.fixture
def talked(memory_with_model: LocalMemory) -> LocalMemory:
    talk(memory_with_model)
    return memory_with_model


def test_who_is_named_is_who_said_it(talked: LocalMemory) -> None:
    assert recalled_texts(talked, "What shoes did Caroline buy?")[0] == TALK[5][1]
    assert recalled_texts(talked, "What shoes did melanie buy?")[0] == TALK[6][1]


def test_being_spoken_to_is_not_being_spoken_about(talked: LocalMemory) -> None:
    assert recalled_texts(talked, "What did Caroline do at the weekend?")[0] == TALK[0][1]


def test_a_short_answer_is_found_by_the_question_before_it(memory_with_model: LocalMemory) -> None:
    answer = "The one downtown, they were very kind to us."
    remember(memory_with_model, NewItem(answer, kind="observation", session="elsewhere"))
    memory_with_model.embeddings.catch_up()
    alone = {
        hit.item.body: hit.relevance for hit in recall(memory_with_model, "adoption agency downtown", Scope()).hits
    }
    talk(memory_with_model)
    second = [
        hit for hit in recall(memory_with_model, "adoption agency downtown", Scope()).hits if hit.item.kind == "message"
    ]
    assert [hit.item.body for hit in second][:2] == [answer, TALK[3][1]], "the question after its answer"
    assert {hit.item.body: hit.relevance for hit in second}[answer] > alone[answer]


def test_who_says_little_answers_less_than_what_is_noted_as_briefly(memory_with_model: LocalMemory) -> None:
    remember(memory_with_model, NewItem("Rehearsal dinner!", kind="observation", session="notes"))
    talk(memory_with_model, (("Ann", "Rehearsal dinner!"),))
    (hit,) = recall(memory_with_model, "rehearsal dinner", Scope()).hits
    assert hit.item.kind == "observation"


@pytest.mark.parametrize("question", ["running shoes", "What did Melanie paint?", "pottery OR adoption", "kind kids"])
def test_what_is_told_first_is_what_is_likeliest(talked: LocalMemory, question: str) -> None:
    relevances = [hit.relevance for hit in recall(talked, question, Scope(), 7).hits]
    assert relevances and relevances == sorted(relevances, reverse=True)


def test_a_role_is_nobodys_name(memory_with_model: LocalMemory) -> None:
    talk(
        memory_with_model,
        (("user", "Boats are kept in the harbour."), ("assistant", "Every user of the harbour owns boats.")),
    )
    assert recalled_texts(memory_with_model, "which user owns boats")[0] == "Every user of the harbour owns boats."


WORK = (
    ("user", "I keep the sprint board in Linear and the first sprint ends on March 29."),
    ("assistant", "A sprint board is best kept in one tool; a first sprint often ends after two weeks."),
)


def test_whose_words_are_asked_about_comes_first(memory_with_model: LocalMemory) -> None:
    talk(memory_with_model, WORK)
    assert recalled_texts(memory_with_model, "Where do I keep my sprint board?")[0] == WORK[0][1]
    assert recalled_texts(memory_with_model, "What did you suggest about the sprint board?")[0] == WORK[1][1]


def test_a_time_that_is_named_counts_beside_the_topic(memory_with_model: LocalMemory) -> None:
    april, may = 1_680_600_000_000, 1_685_000_000_000
    for at in (april, may):
        store_conversation(
            memory_with_model,
            NewConversation(f"at {at}", [NewMessage("user", "We went hiking in the hills.", at, {"name": "Ann"})]),
        )
    memory_with_model.embeddings.catch_up()
    for question, first in (("Where did we go hiking in April 2023?", april), ("hiking on 25 May, 2023", may)):
        assert recall(memory_with_model, question, Scope()).hits[0].item.created_ms == first


def test_what_only_asks_stands_behind_what_tells(memory_with_model: LocalMemory) -> None:
    texts = (("Ann", "Did the adoption agency call you back?"), ("Bob", "The adoption agency did call back today."))
    talk(memory_with_model, texts)
    assert recalled_texts(memory_with_model, "adoption agency call")[0] == texts[1][1]


def test_when_is_answered_by_what_tells_a_time(memory_with_model: LocalMemory) -> None:
    texts = (("Ann", "The pottery class was wonderful."), ("Ann", "The pottery class was last Friday."))
    talk(memory_with_model, texts)
    assert recalled_texts(memory_with_model, "When was the pottery class?")[0] == texts[1][1]


def test_a_question_that_is_only_a_name_finds_what_was_said_by_it_or_of_it(talked: LocalMemory) -> None:
    assert any("Caroline" in text for text in recalled_texts(talked, "Caroline?"))


def test_who_speaks_in_another_project_is_nobody_here(memory_with_model: LocalMemory) -> None:
    talk(memory_with_model, project="theirs")
    ours = (("Dana", "I bought new running shoes."), ("Eve", "Caroline bought new running shoes."))
    talk(memory_with_model, ours, project="ours")
    memory = for_project(memory_with_model, "ours")
    assert recalled_texts(memory, "What did Caroline buy?")[0] == ours[1][1]
