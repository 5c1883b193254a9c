"""Context: what leads, what fits, what stays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from commonplace.config import load
from commonplace.memory.context import Context, ContextItem, build_context
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import KNOWLEDGE_TYPES, Item

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Clock


def cost(entry: ContextItem | Item) -> int:
    """As a caller might write it: a line with the title, the content and the details."""
    if isinstance(entry, ContextItem):
        return len(f"[{entry.item.id}] {entry.item.title}\n{entry.content}") // 4 + 5
    return len(entry.title + entry.body + str(dict(entry.details))) // 4 + 5


def context_for(
    memory: LocalMemory,
    project: str | None = "p",
    query: str | None = None,
    budget: int = 4000,
    *,
    elsewhere: bool = False,
) -> Context:
    return build_context(memory, project, query, budget, cost, elsewhere=elsewhere)


def texts_of(found: Context) -> list[str]:
    return [entry.item.body for entry in found.items]


@pytest.mark.parametrize("type_", sorted(KNOWLEDGE_TYPES))
def test_knowledge_stands_first_even_if_it_is_years_old(memory: LocalMemory, clock: Clock, type_: str) -> None:
    remember(memory, NewItem("We chose this long ago.", type=type_, project="p"))
    clock.forward(days=2000)
    remember_all(memory, [NewItem(f"just now {n}", kind="observation", project="p") for n in range(5)])
    assert texts_of(context_for(memory))[0] == "We chose this long ago."
    assert texts_of(context_for(memory, query="what happened just now"))[0] == "We chose this long ago."


def test_rules_are_always_in_however_old_and_however_much_is_known(memory: LocalMemory, clock: Clock) -> None:
    remember(memory, NewItem("Never push to main.", type="rule", project="p"))
    remember(memory, NewItem("Answer in English.", type="rule"))
    clock.forward(days=3000)
    remember_all(
        memory,
        [NewItem(f"We decided point {n} in this and that way.", type="decision", project="p") for n in range(150)],
    )
    for query in (None, "which point did we decide"):
        for budget in (200, 1000, 4000):
            found = texts_of(context_for(memory, query=query, budget=budget))
            assert {"Never push to main.", "Answer in English."} <= set(found), (query, budget)


def test_what_is_recent_comes_from_the_project_alone(memory: LocalMemory) -> None:
    remember(memory, NewItem("mine", kind="observation", project="p"))
    remember(memory, NewItem("of another project", kind="observation", project="q"))
    remember(memory, NewItem("a decision of another project", type="decision", project="q"))
    remember(memory, NewItem("of no project", kind="observation"))
    assert texts_of(context_for(memory)) == ["mine"]


def test_another_project_is_told_only_if_asked_for_and_after_all_of_ones_own(memory: LocalMemory) -> None:
    remember(memory, NewItem("the deploy script lives in tools", kind="observation", project="p"))
    remember(memory, NewItem("retry with exponential backoff", kind="observation", project="q"))
    remember(
        memory,
        NewItem("retry was mentioned among many other unrelated things that day", kind="observation", project="q"),
    )
    assert texts_of(context_for(memory, query="retry exponential backoff")) == ["the deploy script lives in tools"]
    with_others = context_for(memory, query="retry exponential backoff", elsewhere=True)
    assert texts_of(with_others) == ["the deploy script lives in tools", "retry with exponential backoff"]
    assert [entry.signals.project_match for entry in with_others.items] == [1.0, 0.5]


def test_knowledge_of_another_project_does_not_lead(memory: LocalMemory) -> None:
    remember(memory, NewItem("retry of the uploads was watched", kind="observation", project="p"))
    remember(memory, NewItem("retry with exponential backoff", type="decision", project="q"))
    found = texts_of(context_for(memory, query="retry exponential backoff", elsewhere=True))
    assert found == ["retry of the uploads was watched", "retry with exponential backoff"]


def test_private_chats_of_no_project_are_in_no_context(memory: LocalMemory) -> None:
    remember(memory, NewItem("my therapist says retry", kind="message"))
    remember(memory, NewItem("Always retry twice", type="rule"))
    for project in ("p", None):
        for query in (None, "what does my therapist say"):
            assert texts_of(context_for(memory, project, query=query)) == ["Always retry twice"], (project, query)


def test_a_question_that_nothing_answers_gets_what_is_recent_in_the_project_and_no_more(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(f"the deploy script number {n}", kind="observation", project="p") for n in range(5)])
    remember(memory, NewItem("the deploy script of another project", kind="observation", project="q"))
    found = context_for(memory, query="walrus migration").items
    assert [entry.item.project for entry in found] == ["p"] * 5
    assert all(entry.score == 0.2 and entry.signals.fts5 == 0.0 for entry in found)


def test_scores_are_those_of_the_reference(memory: LocalMemory, clock: Clock) -> None:
    remember(memory, NewItem("seven days ago", kind="observation", project="p"))
    clock.forward(days=7)
    (entry,) = context_for(memory).items
    assert entry.score == pytest.approx(0.70 * 0.5 + 0.30 * 1.0)
    (entry,) = context_for(memory, query="seven days ago").items
    signals = entry.signals
    assert signals.recency == pytest.approx(0.5)
    assert entry.score == pytest.approx(0.45 * signals.semantic + 0.35 * signals.fts5 + 0.10 * 0.5 + 0.10)
    assert signals.fts5 == pytest.approx(1.0)


def test_the_latest_checkpoint_and_summaries_come_along(memory: LocalMemory, clock: Clock) -> None:
    for n in range(8):
        clock.forward(minutes=1)
        remember(memory, NewItem(kind="summary", title=f"session {n}", details={"learned": f"lesson {n}"}, project="p"))
        remember(memory, NewItem(kind="checkpoint", title=f"stopped {n}", details={"progress": f"at {n}"}, project="p"))
        remember(memory, NewItem(kind="checkpoint", title=f"other {n}", details={"progress": "x"}, project="q"))
    found = context_for(memory)
    assert found.checkpoint and found.checkpoint.title == "stopped 7"
    assert [summary.title for summary in found.summaries][:2] == ["session 7", "session 6"]
    (best, *_rest) = context_for(memory, query="lesson 3").summaries
    assert best.title == "session 3"


def test_a_short_text_is_told_as_it_is(memory: LocalMemory) -> None:
    body = "First line.\n\n  - indented\n  - twice\n"
    remember(memory, NewItem(body, kind="observation", project="p"))
    found = context_for(memory)
    assert [entry.content for entry in found.items] == [body.strip()]
    assert not found.truncated
    assert found.total == 1


def test_a_long_text_is_shortened_so_that_others_fit(memory: LocalMemory, clock: Clock) -> None:
    remember(memory, NewItem("word " * 5000, type="decision", title="long", project="p"))
    clock.forward(minutes=1)
    remember(memory, NewItem("short one", kind="observation", project="p"))
    found = context_for(memory, budget=1000)
    assert len(found.items) == 2
    assert found.truncated
    assert found.items[0].content.endswith("…")
    assert len(found.items[0].content) <= 1000


def test_what_did_not_fit_is_admitted(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(f"observation {n} " + "x" * 200, kind="observation", project="p") for n in range(30)])
    found = context_for(memory, budget=500)
    assert 0 < len(found.items) < 30
    assert found.truncated and found.total == 30
    assert not context_for(memory, budget=20_000).truncated


def test_an_unknown_project_still_has_the_rules_of_everywhere(memory: LocalMemory) -> None:
    remember(memory, NewItem("Answer in English.", type="rule"))
    remember(memory, NewItem("of a project", kind="observation", project="q"))
    assert texts_of(context_for(memory, "nowhere")) == ["Answer in English."]
    assert context_for(memory, "nowhere").items[0].signals.project_match == 0.5


def test_an_alias_means_the_same_project(memory: LocalMemory) -> None:
    remember(memory, NewItem("mine", kind="observation", project="github.com/acme/my-api"))
    for name in ("my-api", "MY-API", "git@github.com:acme/my-api.git"):
        (entry,) = context_for(memory, name).items
        assert entry.signals.project_match == 1.0


def test_without_a_project_it_is_what_belongs_to_none(memory: LocalMemory) -> None:
    remember(memory, NewItem("of a project", kind="observation", project="q"))
    remember(memory, NewItem("of no project", kind="observation"))
    found = context_for(memory, None)
    assert texts_of(found) == ["of no project"]
    assert found.items[0].signals.project_match == 1.0


notes = st.builds(
    NewItem,
    content=st.text(min_size=1, max_size=400).map(lambda text: f"said {text}"),
    kind=st.sampled_from(("observation", "memory", "message", "summary", "checkpoint")),
    type=st.sampled_from(("", "decision", "rule", "note", "rejected")),
    title=st.sampled_from(("", "A title", "said")),
    project=st.sampled_from((None, "p", "q")),
)


@given(st.lists(notes, max_size=25), st.integers(0, 1500), st.sampled_from((None, "said", "title said nothing")))
@hypothesis_settings(max_examples=25)
def test_no_budget_is_ever_exceeded(
    tmp_path_factory: pytest.TempPathFactory, clock: Clock, given_: list[NewItem], budget: int, query: str | None
) -> None:
    folder: Path = tmp_path_factory.mktemp("book")
    memory = open_memory(load({"data_dir": str(folder), "embedder": "off"}), clock)
    try:
        remember_all(memory, given_)
        envelope = 20
        found = build_context(memory, "p", query, budget, cost, envelope)
        spent = sum(map(cost, found.items)) + sum(map(cost, found.summaries))
        spent += cost(found.checkpoint) if found.checkpoint else 0
        assert spent == 0 or spent + envelope <= budget
        ids = [entry.item.id for entry in found.items]
        assert len(set(ids)) == len(ids)
        leads = [entry.leads for entry in found.items]
        assert leads == sorted(leads, reverse=True)
        assert all(0.0 <= entry.score <= 1.0 for entry in found.items)
        assert len(found.items) <= found.total
    finally:
        memory.close()
