"""A question comes after its answer, a session's prompt, summary and checkpoint are one hit, importance breaks ties."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.memory.authors import with_writer
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import Author, Scope

TALK = (
    ("user", "We should plan the sale."),
    ("assistant", "Yes, it begins at midnight."),
    ("user", "Who is in the war room?"),
    ("assistant", "Ada, Boris and Chen, with Dana on call."),
    ("user", "Why was stock negative?"),
    ("assistant", "Two reservations were released for one order, so the count fell below zero."),
    ("user", "What train to Leipzig?"),
    ("assistant", "ICE 1007 at 9:04 from platform 5."),
    ("user", "Thanks!"),
)


def found(memory: LocalMemory, question: str, limit: int = 5, scope: Scope | None = None) -> list[str]:
    return [hit.item.text or hit.item.title for hit in recall(memory, question, scope or Scope(), limit).hits]


@pytest.fixture(params=["words", "meaning"])
def talked(request: pytest.FixtureRequest) -> LocalMemory:
    memory: LocalMemory = request.getfixturevalue("memory" if request.param == "words" else "memory_with_model")
    store_conversation(memory, NewConversation("Black Friday", [NewMessage(role, text) for role, text in TALK]))
    memory.embeddings.catch_up()
    return memory


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who is in the war room on Black Friday", 3),
        ("Who is in the war room?", 3),
        ("why was stock negative", 5),
        ("what train to Leipzig", 7),
    ],
)
def test_the_reply_to_the_same_question_comes_before_it(talked: LocalMemory, question: str, answer: int) -> None:
    texts = found(talked, question)
    assert texts[0] == TALK[answer][1]
    assert TALK[answer - 1][1] in texts, "the question itself is still found"


def test_hits_stand_in_the_order_of_their_relevance(talked: LocalMemory) -> None:
    relevances = [hit.relevance for hit in recall(talked, "who is in the war room on Black Friday", Scope()).hits]
    assert relevances == sorted(relevances, reverse=True)


def test_who_looks_for_a_question_finds_it(talked: LocalMemory) -> None:
    assert found(talked, "who asked about the war room")[0] == "Who is in the war room?"


def test_a_query_with_operators_is_only_what_it_matches(talked: LocalMemory) -> None:
    assert found(talked, "war AND room") == ["Who is in the war room?"]


def test_a_reply_outside_the_scope_is_not_found(talked: LocalMemory) -> None:
    texts = found(talked, "who is in the war room", scope=Scope(kinds=("memory", "observation")))
    assert TALK[3][1] not in texts


def test_a_question_that_nobody_answered_is_still_found(memory: LocalMemory) -> None:
    remember(memory, NewItem(content="Why does the elevator stop at night?"))
    assert found(memory, "why does the elevator stop at night") == ["Why does the elevator stop at night?"]


def test_a_statement_about_the_same_comes_before_the_question(memory_with_model: LocalMemory) -> None:
    remember(memory_with_model, NewItem(content="Why does the elevator stop at night?"))
    remember(memory_with_model, NewItem(content="The elevator stops at night because the timer cuts its power."))
    assert found(memory_with_model, "why does the elevator stop at night")[0].startswith("The elevator stops")


def test_prompt_summary_and_checkpoint_of_a_session_are_one_hit(memory: LocalMemory) -> None:
    title = "Make the login page stop flickering"
    more: dict[str, Any] = {"session": "s1", "project": "web", "title": title}
    remember(memory, NewItem(kind="observation", type="prompt", content=title, **more))
    remember(memory, NewItem(kind="summary", details={"request": title, "learned": "The theme loads late."}, **more))
    remember(memory, NewItem(kind="checkpoint", details={"task": title, "progress": "Theme moved up."}, **more))
    remember(
        memory, NewItem(kind="summary", details={"request": title, "learned": "A font"}, **{**more, "session": "s2"})
    )
    hits = recall(memory, "login page flickering", Scope()).hits
    assert sorted(hit.item.session or "" for hit in hits) == ["s1", "s2"]
    for kind in ("observation", "summary", "checkpoint"):
        (one, *_rest) = recall(memory, "login page flickering", Scope(kinds=(kind,))).hits
        assert one.item.kind == kind, "the others can still be found by their kind"


@pytest.mark.parametrize("order", [(1.0, 10.0), (10.0, 1.0)])
def test_of_nearly_the_same_texts_the_more_important_comes_first(
    memory_with_model: LocalMemory, order: tuple[float, float]
) -> None:
    texts = ("Deploys to production happen on Friday afternoons", "Deploys to production happen on Friday at three")
    remember_all(memory_with_model, [NewItem(content=t, importance=i) for t, i in zip(texts, order, strict=True)])
    hits = recall(memory_with_model, "when do we deploy to production", Scope()).hits
    assert [hit.item.importance for hit in hits] == [10.0, 1.0]
    assert hits[0].relevance >= hits[1].relevance


def test_of_the_same_texts_the_more_important_is_the_one_that_is_told(memory: LocalMemory) -> None:
    text = "Deploys happen every Friday at three in the afternoon, after all tests of our web shop have passed for good"
    remember(memory, NewItem(content=f"{text} once", importance=1.0))
    remember(memory, NewItem(content=f"{text} again", importance=9.0))
    (hit,) = recall(memory, "when do deploys happen", Scope()).hits
    assert hit.item.importance == 9.0


def test_messages_have_the_importance_of_their_conversation(memory: LocalMemory) -> None:
    for importance, text in ((9.0, "Deploys happen on Friday at three"), (2.0, "Deploys happen on Friday at four")):
        store_conversation(
            memory, NewConversation(f"Plan {importance}", [NewMessage("user", text)], importance=importance)
        )
    assert found(memory, "when do deploys happen") == [
        "Deploys happen on Friday at three",
        "Deploys happen on Friday at four",
    ]


@pytest.mark.parametrize(
    ("question", "boosted"), [("Which libraries should I use?", True), ("Which libraries did I bring up?", False)]
)
def test_a_standing_instruction_counts_more_for_a_task_but_not_for_a_question_about_the_past(
    memory: LocalMemory, question: str, boosted: bool
) -> None:
    texts = ("Always name the versions of libraries.", "I added the libraries that draw charts.")
    store_conversation(memory, NewConversation("Budget app", [NewMessage("user", text) for text in texts]))
    rule, other = (
        hit.why.get("instruction", 0.0)
        for text in texts
        for hit in recall(memory, question, Scope()).hits
        if hit.item.text == text
    )
    assert (rule > other) is boosted


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Let's use DynamoDB for the audit log", "DynamoDB for the ledger: no transactions that we could trust"),
        (
            "Refactor the PDF export, it is too slow in the container",
            "PDFs are rendered by WeasyPrint in its own container, where the fonts are",
        ),
        ("Please renumber the invoices of October so that they have no gaps", "Invoices must never be renumbered"),
    ],
)
def test_a_prompt_and_what_it_proposed_are_no_answer_to_the_same_prompt(
    memory_with_model: LocalMemory, prompt: str, answer: str
) -> None:
    memory = memory_with_model
    for text in (
        "DynamoDB for the ledger: no transactions that we could trust",
        "PDFs are rendered by WeasyPrint in its own container, where the fonts are",
        "Invoices must never be renumbered",
        "Production runs on Hetzner Cloud in Falkenstein",
    ):
        remember(memory, NewItem(text, type="fact"))
    captured = with_writer(memory, Author("claude-code", "captured"))
    remember(captured, NewItem(prompt, "observation", "prompt", session="claude-code:1"))
    remember(captured, NewItem(prompt, type="decision", review="proposed"))
    memory.embeddings.catch_up()
    hits = recall(memory, prompt, Scope()).hits
    assert hits[0].item.text == answer
    assert all(hit.relevance < 0.5 for hit in hits if hit.item.text == prompt), hits
