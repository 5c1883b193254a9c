"""Explaining: phases are days that lie together, told by what says most; nothing is told that was not said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.past_work import SESSIONS, local, settle, work

from commonplace.errors import NoResults
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.explain import PHASES, TimelineEvent, _phases, _summary_text, explain
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

DAYS = st.lists(st.dates(), min_size=1, max_size=40, unique=True)


@given(DAYS)
def test_phases_keep_their_order_and_the_number_is_small(days: list[object]) -> None:
    events = [TimelineEvent(str(day), "shop", f"event {n}", n % 3) for n, day in enumerate(sorted(map(str, days)))]
    phases = _phases(events)
    assert 1 <= len(phases) == min(PHASES, len(events))
    assert phases == [event for event in events if event in phases]


def test_days_that_lie_together_are_one_phase_told_by_the_best() -> None:
    days = [
        "2025-01-01",
        "2025-01-02",
        "2025-01-03",
        "2025-02-01",
        "2025-03-01",
        "2025-04-01",
        "2025-05-01",
        "2025-06-01",
    ]
    events = [TimelineEvent(day, "shop", day, 1.0 if day == "2025-01-02" else 0.0) for day in days]
    assert [event.day for event in _phases(events)] == ["2025-01-02", *days[3:]]


@pytest.mark.parametrize(
    ("events", "summary"),
    [
        ([("2025-01-01", "shop", "Built it:")], "On 2025-01-01 in shop: Built it."),
        (
            [("2025-01-01", "shop", "Why?"), ("2025-01-01", "blog", "Built it")],
            (
                "It came up on one day, 2025-01-01, in shop and blog."
                " First (2025-01-01, shop): Why? Most recently (2025-01-01, blog): Built it."
            ),
        ),
        (
            [(f"2025-01-0{n}", name, "x") for n, name in enumerate(("a", "b", "c", "d"), 1)],
            (
                "It came up on 4 days from 2025-01-01 to 2025-01-04 in a, b and 2 more. First (2025-01-01, a): x."
                " Then (2025-01-02, b): x. Then (2025-01-03, c): x. Most recently (2025-01-04, d): x."
            ),
        ),
    ],
)
def test_the_words_of_a_summary(events: list[tuple[str, str, str]], summary: str) -> None:
    assert _summary_text([TimelineEvent(*event) for event in events], "It came up") == summary


@pytest.mark.parametrize("topic", ["login", "the blog", "token", "crash", "what did we do last?", "Redis or Postgres"])
def test_every_event_was_said_that_day(memory: LocalMemory, topic: str) -> None:
    work(memory)
    fields = {began[:10]: " ".join(turns) for began, _project, _label, turns in SESSIONS}
    for event in explain(memory, topic).timeline:
        if event.day in fields:
            words = event.event.removeprefix("Request: ").rstrip(".…")
            # A first word may have become the beginning of a sentence.
            assert words[1:] in fields[event.day]


def test_what_came_of_it_is_told_rather_than_what_was_wanted(memory: LocalMemory) -> None:
    question, done = "Bitte baue eine Suche in das Blog ein.", "Ich habe Pagefind eingebaut, ganz ohne Server."
    store_conversation(
        memory,
        NewConversation(
            "Suche", [NewMessage("user", question), NewMessage("assistant", done)], key="s", project="blog"
        ),
    )
    settle(memory)
    assert [event.event for event in explain(memory, "Blog").timeline] == [done]


def test_topics_come_by_weight_and_chunks_best_first(memory_with_model: LocalMemory) -> None:
    work(memory_with_model)
    found = explain(memory_with_model, "rate limiting of login attempts")
    assert found.topics and len(found.topics) == len(set(found.topics)) <= 5
    scores = [chunk.score for chunk in found.chunks]
    assert scores == sorted(scores, reverse=True)


def test_a_topic_made_of_telling_words_only_is_asked_as_it_is(memory: LocalMemory) -> None:
    remember(memory, NewItem(content="The history of the story is an overview", created_ms=local("2025-03-01T12:00")))
    assert explain(memory, "history overview").timeline[0].day == "2025-03-01"
    with pytest.raises(NoResults):
        explain(memory, "journey")


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (NewItem("GraphQL for the public API", type="rejected"), "Rejected: GraphQL for the public API"),
        (NewItem("Let's use GraphQL", type="decision", review="proposed"), "Proposed: Let's use GraphQL"),
        (NewItem("Partners get GraphQL", type="decision"), "Partners get GraphQL"),
    ],
)
def test_what_was_turned_down_or_only_proposed_does_not_read_as_if_it_held(
    memory: LocalMemory, item: NewItem, told: str
) -> None:
    remember(memory, item)
    found = explain(memory, "GraphQL")
    assert [event.event for event in found.timeline] == [told] and told in found.summary
