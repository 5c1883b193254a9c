"""Chunks: whose they are, when they were said, which of them answer a question about time, and what they are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import THEN, Clock
from tests.memory.past_work import LIMITED, SHOP, STYLED, local, settle, work

from commonplace.errors import NoResults
from commonplace.memory.book import Book
from commonplace.memory.chunks import (
    POOL,
    Latest,
    asked_latest,
    chunk_ids,
    is_small_talk,
    latest_chunks,
    recollect,
)
from commonplace.memory.conversations import Conversation, Said, keep
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.text.recency import Period

DAY = 86_400_000


def test_the_latest_in_a_period_come_latest_first(book: Book) -> None:
    work(book)
    february = Period(local("2025-02-01T00:00"), local("2025-03-01T00:00"))
    chunks = latest_chunks(book, Latest(february, SHOP), 100)
    times = [chunk.item.created_ms for chunk in chunks]
    assert times == sorted(times, reverse=True)
    assert {chunk.day[:7] for chunk in chunks} == {"2025-02"} and {chunk.slug for chunk in chunks} == {"shop"}
    assert "great, ship it" not in [chunk.text for chunk in chunks]
    assert [chunk.text for chunk in latest_chunks(book, Latest(Period(), None), 1)] == [STYLED]


@given(
    days=st.lists(st.integers(0, 20), min_size=1, max_size=40),
    begin=st.integers(0, 20),
    length=st.integers(1, 10),
    most=st.integers(1, 30),
)
def test_a_period_holds_what_it_holds(book: Book, days: list[int], begin: int, length: int, most: int) -> None:
    base = sum(book.store.counts().items.values())
    project = f"p{base}"
    texts = [" ".join(f"thing{base}of{n}at{i}" for i in range(9)) for n in range(len(days))]
    notes = [
        Note(kind="observation", content=text, project=project, created_ms=THEN + day * DAY)
        for text, day in zip(texts, days, strict=True)
    ]
    remember_all(book, notes)
    period = Period(THEN + begin * DAY, THEN + (begin + length) * DAY)
    told = latest_chunks(book, Latest(period, project), most)
    inside = sorted((day for day in days if begin <= day < begin + length), reverse=True)
    assert [(chunk.item.created_ms - THEN) // DAY for chunk in told] == inside[:most]


def test_a_question_names_a_project_or_is_about_something_else(book: Book) -> None:
    work(book)
    for question in ("what did we do last in shop?", "what did we do last on github.com/acme/shop"):
        asked = asked_latest(book, question)
        assert asked is not None and asked.project == SHOP
    assert asked_latest(book, "what did we do last?") == Latest(Period(), None)
    assert asked_latest(book, "the last unicorn") is None
    assert asked_latest(book, "login") is None


def test_titles_alone_are_work_and_thanks_are_not(book: Book, clock: Clock) -> None:
    remember(book, Note(kind="observation", title="Ran it", project="ops"))
    keep(book, Conversation("s", [Said("user", "ok")], key="s", project="ops"))
    newest = [chunk.text for chunk in recollect(book, "what did we do last?").chunks]
    assert newest == ["Ran it"]
    assert not is_small_talk(fetch_one(book, 1))


def test_the_parts_of_a_long_item_are_numbered(book: Book) -> None:
    long = "\n\n".join(f"Part {n} is about the number {n} and about nothing else at all. " * 30 for n in range(6))
    stored = remember(book, Note(content=long))
    item = fetch_one(book, stored.id)
    passages = book.store.passages_of([item.id])[item.id]
    assert len(passages) > 2
    ids = chunk_ids(book, dict.fromkeys(passages, item))
    assert [ids[passage] for passage in passages] == [f"{item.short_id}-{n + 1}" for n in range(len(passages))]
    assert {fetch_one(book, id_).id for id_ in ids.values()} == {item.id}


def test_of_a_long_turn_the_latest_is_how_it_ended(book: Book) -> None:
    turn = "\n\n".join(
        [*(f"[Bash] look {n}\n\n```\n{'cage open ' * 60}\n```" for n in range(9)), "All cages are shut."]
    )
    said = [Said("user", "Look after the cages of the zoo, please."), Said("assistant", turn)]
    keep(book, Conversation("Cages", said, key="s", project="zoo"))
    (last, asked) = recollect(book, "what did we do last?").chunks
    assert last.text.endswith("All cages are shut.") and asked.text == said[0].content


def test_a_total_counts_what_the_limit_leaves_out(book: Book) -> None:
    texts = [f"walrus {n} " + " ".join(f"a{n}b{i}" for i in range(9)) for n in range(60)]
    remember_all(book, [Note(content=text) for text in texts])
    found = recollect(book, "walrus", limit=7, min_score=0)
    assert (len(found.chunks), found.total) == (7, 60)
    assert recollect(book, "what did we do last?", limit=3).total == 60 <= POOL


def test_neighbours_are_not_results_and_no_small_talk(book: Book) -> None:
    work(book)
    found = recollect(book, "token bucket Redis", min_score=0)
    assert found.chunks[0].text == LIMITED
    told = {chunk.passage_id for chunk in found.chunks}
    assert found.around and told.isdisjoint(one.passage_id for one in found.around)
    assert not any(is_small_talk(one.item) for one in found.around)


def test_nothing_found_is_an_error(book: Book) -> None:
    settle(book)
    with pytest.raises(NoResults):
        recollect(book, "okapi")
