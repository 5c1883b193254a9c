"""Chunks: whose they are, when they were said, which of them answer a question about time, and what they are called."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import THEN, Clock
from tests.memory.past_work import LIMITED, SHOP, STYLED, local, settle, work

from commonplace.errors import NoResults
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall_chunks import (
    POOL,
    LatestQuestion,
    chunk_ids,
    is_small_talk_item,
    latest_chunks,
    parse_latest_question,
    recall_chunks,
)
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import Scope
from commonplace.text.dates import Period

DAY = 86_400_000


def test_the_latest_in_a_period_come_latest_first(memory: LocalMemory) -> None:
    work(memory)
    february = Period(local("2025-02-01T00:00"), local("2025-03-01T00:00"))
    chunks = latest_chunks(memory, LatestQuestion(february, Scope(project=SHOP)), 100)
    times = [chunk.item.created_ms for chunk in chunks]
    assert times == sorted(times, reverse=True)
    assert {chunk.day[:7] for chunk in chunks} == {"2025-02"} and {chunk.slug for chunk in chunks} == {"shop"}
    assert "great, ship it" not in [chunk.text for chunk in chunks]
    assert [chunk.text for chunk in latest_chunks(memory, LatestQuestion(Period(), Scope()), 1)] == [STYLED]


def test_a_session_is_not_named_after_a_secret(memory: LocalMemory) -> None:
    secret = "AKIAIOSFODNN7EXAMPLQ"
    store_conversation(memory, NewConversation("Talk", [NewMessage("user", "The zebra crossed the road at noon")]))
    (chunk,) = recall_chunks(memory, "zebra crossed", 5).chunks
    assert chunk.session is not None and chunk.item.project is None
    # Whoever stored it before secrets were recognised: nobody would see it within a name.
    named = replace(chunk, session=replace(chunk.session, folder=f"/{secret}"))
    assert secret not in named.session_name and named.session_name.endswith(chunk.day)


@given(
    days=st.lists(st.integers(0, 20), min_size=1, max_size=40),
    begin=st.integers(0, 20),
    length=st.integers(1, 10),
    most=st.integers(1, 30),
)
def test_a_period_holds_what_it_holds(memory: LocalMemory, days: list[int], begin: int, length: int, most: int) -> None:
    base = sum(memory.store.counts().items.values())
    project = f"p{base}"
    texts = [" ".join(f"thing{base}of{n}at{i}" for i in range(9)) for n in range(len(days))]
    notes = [
        NewItem(kind="observation", content=text, project=project, created_ms=THEN + day * DAY)
        for text, day in zip(texts, days, strict=True)
    ]
    remember_all(memory, notes)
    period = Period(THEN + begin * DAY, THEN + (begin + length) * DAY)
    result = latest_chunks(memory, LatestQuestion(period, Scope(project=project)), most)
    inside = sorted((day for day in days if begin <= day < begin + length), reverse=True)
    assert [(chunk.item.created_ms - THEN) // DAY for chunk in result] == inside[:most]


def test_a_question_names_a_project_or_is_about_something_else(memory: LocalMemory) -> None:
    work(memory)
    for question in ("what did we do last in shop?", "what did we do last on github.com/acme/shop"):
        parsed = parse_latest_question(memory, question)
        assert parsed is not None and parsed.scope.project == SHOP
    assert parse_latest_question(memory, "what did we do last?") == LatestQuestion(Period(), Scope())
    assert parse_latest_question(memory, "the last unicorn") is None
    assert parse_latest_question(memory, "login") is None


def test_titles_alone_are_work_and_thanks_are_not(memory: LocalMemory, clock: Clock) -> None:
    remember(memory, NewItem(kind="observation", title="Ran it", project="ops"))
    store_conversation(memory, NewConversation("s", [NewMessage("user", "ok")], key="s", project="ops"))
    newest = [chunk.text for chunk in recall_chunks(memory, "what did we do last?").chunks]
    assert newest == ["Ran it"]
    assert not is_small_talk_item(get_item(memory, 1))


def test_the_parts_of_a_long_item_are_numbered(memory: LocalMemory) -> None:
    long = "\n\n".join(f"Part {n} is about the number {n} and about nothing else at all. " * 30 for n in range(6))
    stored = remember(memory, NewItem(content=long))
    item = get_item(memory, stored.id)
    passages = memory.store.passages_of([item.id])[item.id]
    assert len(passages) > 2
    ids = chunk_ids(memory, dict.fromkeys(passages, item))
    assert [ids[passage] for passage in passages] == [f"{item.short_id}-{n + 1}" for n in range(len(passages))]
    assert {get_item(memory, id_).id for id_ in ids.values()} == {item.id}


def test_of_a_long_turn_the_latest_is_how_it_ended(memory: LocalMemory) -> None:
    turn = "\n\n".join(
        [*(f"[Bash] look {n}\n\n```\n{'cage open ' * 60}\n```" for n in range(9)), "All cages are shut."]
    )
    messages = [NewMessage("user", "Look after the cages of the zoo, please."), NewMessage("assistant", turn)]
    store_conversation(memory, NewConversation("Cages", messages, key="s", project="zoo"))
    (last, question) = recall_chunks(memory, "what did we do last?").chunks
    assert last.text.endswith("All cages are shut.") and question.text == messages[0].content


def test_a_total_counts_what_the_limit_leaves_out(memory: LocalMemory) -> None:
    texts = [f"walrus {n} " + " ".join(f"a{n}b{i}" for i in range(9)) for n in range(60)]
    remember_all(memory, [NewItem(content=text) for text in texts])
    found = recall_chunks(memory, "walrus", limit=7, min_score=0)
    assert (len(found.chunks), found.total) == (7, 60)
    assert recall_chunks(memory, "what did we do last?", limit=3).total == 60 <= POOL


def test_neighbours_are_not_results_and_no_small_talk(memory: LocalMemory) -> None:
    work(memory)
    found = recall_chunks(memory, "token bucket Redis", min_score=0)
    assert found.chunks[0].text == LIMITED
    seen = {chunk.passage_id for chunk in found.chunks}
    assert found.around and seen.isdisjoint(one.passage_id for one in found.around)
    assert not any(is_small_talk_item(one.item) for one in found.around)


def test_nothing_found_is_an_error(memory: LocalMemory) -> None:
    settle(memory)
    with pytest.raises(NoResults):
        recall_chunks(memory, "okapi")
