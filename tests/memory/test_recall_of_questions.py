"""A question comes after its answer, a session's prompt, summary and checkpoint are one hit, importance breaks ties."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, keep
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.model import Scope

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


def found(book: Book, question: str, limit: int = 5, scope: Scope | None = None) -> list[str]:
    return [hit.item.text or hit.item.title for hit in recall(book, question, scope or Scope(), limit).hits]


@pytest.fixture(params=["words", "meaning"])
def talked(request: pytest.FixtureRequest) -> Book:
    book: Book = request.getfixturevalue("book" if request.param == "words" else "wise_book")
    keep(book, Conversation("Black Friday", [Said(role, text) for role, text in TALK]))
    book.meaning.catch_up()
    return book


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who is in the war room on Black Friday", 3),
        ("Who is in the war room?", 3),
        ("why was stock negative", 5),
        ("what train to Leipzig", 7),
    ],
)
def test_the_reply_to_the_same_question_comes_before_it(talked: Book, question: str, answer: int) -> None:
    texts = found(talked, question)
    assert texts[0] == TALK[answer][1]
    assert TALK[answer - 1][1] in texts, "the question itself is still found"


def test_hits_stand_in_the_order_of_their_relevance(talked: Book) -> None:
    relevances = [hit.relevance for hit in recall(talked, "who is in the war room on Black Friday", Scope()).hits]
    assert relevances == sorted(relevances, reverse=True)


def test_who_looks_for_a_question_finds_it(talked: Book) -> None:
    assert found(talked, "who asked about the war room")[0] == "Who is in the war room?"


def test_a_query_with_operators_is_only_what_it_matches(talked: Book) -> None:
    assert found(talked, "war AND room") == ["Who is in the war room?"]


def test_a_reply_outside_the_scope_is_not_found(talked: Book) -> None:
    texts = found(talked, "who is in the war room", scope=Scope(kinds=("memory", "observation")))
    assert TALK[3][1] not in texts


def test_a_question_that_nobody_answered_is_still_found(book: Book) -> None:
    remember(book, Note(content="Why does the elevator stop at night?"))
    assert found(book, "why does the elevator stop at night") == ["Why does the elevator stop at night?"]


def test_a_statement_about_the_same_comes_before_the_question(wise_book: Book) -> None:
    remember(wise_book, Note(content="Why does the elevator stop at night?"))
    remember(wise_book, Note(content="The elevator stops at night because the timer cuts its power."))
    assert found(wise_book, "why does the elevator stop at night")[0].startswith("The elevator stops")


def test_prompt_summary_and_checkpoint_of_a_session_are_one_hit(book: Book) -> None:
    title = "Make the login page stop flickering"
    more: dict[str, Any] = {"session": "s1", "project": "web", "title": title}
    remember(book, Note(kind="observation", type="prompt", content=title, **more))
    remember(book, Note(kind="summary", details={"request": title, "learned": "The theme loads late."}, **more))
    remember(book, Note(kind="checkpoint", details={"task": title, "progress": "Theme moved up."}, **more))
    remember(book, Note(kind="summary", details={"request": title, "learned": "A font"}, **{**more, "session": "s2"}))
    hits = recall(book, "login page flickering", Scope()).hits
    assert sorted(hit.item.session or "" for hit in hits) == ["s1", "s2"]
    for kind in ("observation", "summary", "checkpoint"):
        (one, *_rest) = recall(book, "login page flickering", Scope(kinds=(kind,))).hits
        assert one.item.kind == kind, "the others can still be found by their kind"


@pytest.mark.parametrize("order", [(1.0, 10.0), (10.0, 1.0)])
def test_of_nearly_the_same_texts_the_more_important_comes_first(wise_book: Book, order: tuple[float, float]) -> None:
    texts = ("Deploys to production happen on Friday afternoons", "Deploys to production happen on Friday at three")
    remember_all(wise_book, [Note(content=t, importance=i) for t, i in zip(texts, order, strict=True)])
    hits = recall(wise_book, "when do we deploy to production", Scope()).hits
    assert [hit.item.importance for hit in hits] == [10.0, 1.0]
    assert hits[0].relevance >= hits[1].relevance


def test_of_the_same_texts_the_more_important_is_the_one_that_is_told(book: Book) -> None:
    text = "Deploys happen every Friday at three in the afternoon, after all tests of our web shop have passed for good"
    remember(book, Note(content=f"{text} once", importance=1.0))
    remember(book, Note(content=f"{text} again", importance=9.0))
    (hit,) = recall(book, "when do deploys happen", Scope()).hits
    assert hit.item.importance == 9.0


def test_messages_have_the_importance_of_their_conversation(book: Book) -> None:
    for importance, text in ((9.0, "Deploys happen on Friday at three"), (2.0, "Deploys happen on Friday at four")):
        keep(book, Conversation(f"Plan {importance}", [Said("user", text)], importance=importance))
    assert found(book, "when do deploys happen") == [
        "Deploys happen on Friday at three",
        "Deploys happen on Friday at four",
    ]
