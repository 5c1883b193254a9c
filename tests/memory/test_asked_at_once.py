"""A question right after writing: what has no vector yet gets one first, and the rest is ordered on the same scale."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from benchmarks.asked_at_once import facts
from tests.conftest import Clock
from tests.dialects.conftest import calling

from commonplace.memory import meaning
from commonplace.memory.book import Book, limited
from commonplace.memory.context import context
from commonplace.memory.recall import recall, understood, with_vectors
from commonplace.memory.remember import Note, remember_all
from commonplace.model import Scope

NOTES = (
    "After logging in, people get a signed JWT that is refreshed silently for 30 days",
    "The office coffee machine is cleaned on Fridays",
    "Images are resized by a background worker",
)
PARAPHRASE = "how do users stay authenticated"
# More than are embedded before a question is answered.
MANY = meaning.ASKED_PASSAGES + 40
BOUND_SECONDS = 60.0


def write(book: Book, texts: Sequence[str], project: str | None = None) -> None:
    remember_all(book, [Note(content=text, type="fact", project=project) for text in texts])


def test_what_was_just_written_is_found_by_meaning(wise_book: Book) -> None:
    write(wise_book, NOTES)
    found = recall(wise_book, PARAPHRASE, Scope())
    assert found.hits[0].item.body == NOTES[0] and found.hits[0].lexical == 0.0
    assert (found.by_meaning, found.waiting) == (True, 0)
    assert wise_book.store.pending() == 0, "a vector that was made is kept"
    assert wise_book.store.counts().vectors == len(NOTES)


def test_the_vectors_are_those_that_the_background_would_have_made(wise_book: Book, clock: Clock) -> None:
    write(wise_book, NOTES)
    at_once = recall(wise_book, PARAPHRASE, Scope()).hits[0]
    wise_book.store.embed_again()
    wise_book.meaning.catch_up()
    assert recall(wise_book, PARAPHRASE, Scope()).hits[0] == at_once


def test_the_right_one_of_many_alike_comes_first_before_all_have_vectors(wise_book: Book) -> None:
    pairs = facts(600)
    write(wise_book, [fact for fact, _question in pairs])
    chosen = pairs[::120]
    for fact, question in chosen:
        found = recall(wise_book, question, Scope())
        assert found.hits[0].item.body == fact
        assert found.waiting == wise_book.store.pending() > 0


def test_what_has_no_vector_is_ordered_beside_what_has_one(wise_book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = facts(60)
    write(wise_book, [fact for fact, _question in pairs[:40]])
    wise_book.meaning.catch_up()
    write(wise_book, [fact for fact, _question in pairs[40:]])
    # As if the time were over before anything was embedded.
    monkeypatch.setattr(type(wise_book.meaning), "embed_now", lambda *_: 0)
    for fact, question in (*pairs[:40:10], *pairs[40::5]):
        found = recall(wise_book, question, Scope())
        assert found.waiting == 20
        assert found.hits[0].item.body == fact


def test_no_more_is_embedded_than_a_question_may_wait_for(wise_book: Book) -> None:
    write(wise_book, [f"Remark number {n}" for n in range(30)])
    asked = with_vectors(wise_book, understood(wise_book, "remark 7"), [Scope()], 10, BOUND_SECONDS)
    assert wise_book.store.pending() == asked.waiting == 20
    late = with_vectors(wise_book, understood(wise_book, "remark 7"), [Scope()], seconds=0.0)
    assert late.waiting == 20 - meaning.ASKED_BATCH, "one batch at least"


def test_what_holds_the_words_is_embedded_before_what_is_newer(wise_book: Book) -> None:
    write(wise_book, ["The walrus migrates in April", *(f"Remark number {n}" for n in range(30))])
    with_vectors(wise_book, understood(wise_book, "when does the walrus migrate"), [Scope()], most=1)
    vector = wise_book.meaning.of_question("walrus")
    assert vector is not None
    (near,) = wise_book.store.search_vectors(vector, Scope(), 9)
    assert near.item_id == 1


def test_the_newest_of_the_scope_is_embedded_before_the_newest_of_all(wise_book: Book) -> None:
    write(wise_book, [NOTES[0]], "shop")
    write(wise_book, [f"Remark number {n}" for n in range(MANY)], "other")
    found = recall(wise_book, PARAPHRASE, Scope(project="shop"))
    assert [hit.item.body for hit in found.hits] == [NOTES[0]] and found.waiting == 0
    assert wise_book.store.pending() == MANY


def test_a_key_for_one_project_has_its_own_embedded_and_counted_only(wise_book: Book) -> None:
    write(wise_book, [NOTES[0]], "shop")
    write(wise_book, NOTES[1:], "other")
    found = recall(limited(wise_book, "shop"), PARAPHRASE, Scope())
    assert [hit.item.body for hit in found.hits] == [NOTES[0]] and found.waiting == 0
    assert wise_book.store.pending() == 2


def test_a_context_with_a_query_knows_what_was_just_written(wise_book: Book) -> None:
    write(wise_book, NOTES, "shop")
    found = context(wise_book, "shop", PARAPHRASE, 2_000, lambda _entry: 10)
    assert found.items[0].item.body == NOTES[0] and found.items[0].signals.semantic > 0.2
    assert found.answers[0] == found.items[0].item.id and found.waiting == 0


def test_questions_at_once_embed_nothing_twice(wise_book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    write(wise_book, [f"Remark number {n}" for n in range(20)])
    recall(wise_book, "warm up", Scope(project="nowhere"))
    embedded: list[str] = []
    embedder = wise_book.meaning._embedder
    assert embedder is not None
    embed = embedder.embed

    def counted(texts: Sequence[str], before: Sequence[str] = ()) -> object:
        embedded.extend(texts)
        return embed(texts, before)

    monkeypatch.setattr(embedder, "embed", counted)
    asked = [understood(wise_book, f"remark {n}") for n in range(4)]
    threads = [
        threading.Thread(target=with_vectors, args=(wise_book, one, [Scope()], 64, BOUND_SECONDS)) for one in asked
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    remarks = [text for text in embedded if text.startswith("Remark")]
    assert sorted(remarks) == sorted(set(remarks))
    assert wise_book.store.pending() == 0


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "remark 7"}),
        ("search_memories", {"query": "remark 7", "project_id": "p"}),
        ("recall", {"query": "remark 7", "minScore": 0}),
        ("memory_search", {"query": "remark 7"}),
        ("get_context", {"query": "remark 7", "project": "p"}),
    ],
)
def test_every_tool_says_when_meaning_is_incomplete(wise_book: Book, tool: str, arguments: dict[str, object]) -> None:
    call = calling(wise_book)
    write(wise_book, [f"Remark number {n}" for n in range(3)], "p")
    assert "notice" not in call(tool, **arguments)
    write(wise_book, [f"Remark number {n}" for n in range(3, MANY)], "p")
    told = call(tool, **arguments)["notice"]
    assert told.startswith("Search by meaning is incomplete: ") and "new passages have no vector yet" in told
    wise_book.meaning.catch_up()
    assert "notice" not in call(tool, **arguments)
