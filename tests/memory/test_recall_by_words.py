"""Recall without a model: words alone, and still honest about how likely a hit is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import TooLarge
from commonplace.memory.context import score_items
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall, recall_scopes
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.search_candidates import MAX_QUERY
from commonplace.model import Scope

if TYPE_CHECKING:
    from tests.conftest import Clock

NOTES = (
    NewItem("Rate limiting answers with status 429 and a Retry-After header.", type="fact", project="api"),
    NewItem("Retry failed requests with exponential backoff.", type="rule"),
    NewItem("Sessions are kept in Redis because it is fast.", type="decision", project="api"),
    NewItem("The landing page has a blue button.", project="web"),
)


@pytest.fixture
def ids(memory: LocalMemory) -> list[int]:
    return [stored.id for stored in remember_all(memory, NOTES)]


def test_a_question_finds_by_its_words_best_first(memory: LocalMemory, ids: list[int]) -> None:
    answer = recall(memory, "how do we do rate limiting with retry?", Scope())
    assert [hit.item.id for hit in answer.hits][:2] == [ids[0], ids[1]]
    assert not answer.by_meaning
    assert answer.hits[0].relevance > answer.hits[1].relevance
    assert all(0.0 < hit.relevance < 1.0 and hit.semantic == 0.0 and hit.lexical > 0.0 for hit in answer.hits)


def test_a_question_about_something_else_finds_nothing(memory: LocalMemory, ids: list[int]) -> None:
    assert recall(memory, "where do penguins sleep", Scope()).hits == ()


def test_all_of_the_words_is_likely_and_one_of_many_is_not(memory: LocalMemory, ids: list[int]) -> None:
    (whole,) = recall(memory, "landing page button", Scope()).hits
    (little,) = recall(memory, "which penguins paint their igloo blue every northern winter", Scope()).hits
    assert whole.relevance > 0.5 > little.relevance


@pytest.mark.parametrize("question", ["the", "how", "is it", "The a with"])
def test_words_that_say_nothing_are_no_likely_question(memory: LocalMemory, ids: list[int], question: str) -> None:
    assert all(hit.relevance < 0.5 for hit in recall(memory, question, Scope()).hits)


def test_an_operator_is_a_filter(memory: LocalMemory, ids: list[int]) -> None:
    assert {hit.item.id for hit in recall(memory, "retry NOT backoff", Scope()).hits} == {ids[0]}
    assert recall(memory, "redis AND button", Scope()).hits == ()
    assert [hit.item.id for hit in recall(memory, "type:decision", Scope()).hits] == [ids[2]]


def test_a_scope_is_kept(memory: LocalMemory, ids: list[int]) -> None:
    question = "retry requests sessions button"
    assert {h.item.id for h in recall(memory, question, Scope(project="api")).hits} == {ids[0], ids[2]}
    assert {h.item.id for h in recall(memory, question, Scope(project="api", with_global=True)).hits} == set(ids[:3])
    assert {h.item.id for h in recall(memory, question, Scope(types=("rule",))).hits} == {ids[1]}
    first, second = recall_scopes(memory, question, [Scope(project="web"), Scope(kinds=("summary",))], [5, 5])
    assert ([h.item.id for h in first.hits], second.hits) == ([ids[3]], ())


def test_limit_bounds_and_total_tells_of_more(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(f"walrus number {n} of the {'many ' * n}") for n in range(9)])
    answer = recall(memory, "walrus", Scope(), limit=4)
    assert len(answer.hits) == 4
    assert answer.total == 9


def test_a_long_item_is_one_hit_with_its_best_passage(memory: LocalMemory) -> None:
    text = "\n\n".join(f"Section {n} is about topic{n:02d}. " + "Words follow words. " * 30 for n in range(12))
    stored = remember(memory, NewItem(text, title="Handbook of topics"))
    (hit,) = recall(memory, "topic07", Scope()).hits
    assert hit.item.id == stored.id
    assert "topic07" in memory.store.passage_texts([hit.passage_id])[hit.passage_id].text


def test_almost_the_same_is_told_once(memory: LocalMemory) -> None:
    text = "the walrus swims in the cold sea near the northern harbour every morning before the boats leave"
    first = remember(memory, NewItem(text, kind="observation", session="a"))
    remember(memory, NewItem(text, kind="observation", session="b"))
    remember(memory, NewItem("the walrus sleeps", kind="observation", session="b"))
    bodies = [hit.item.body for hit in recall(memory, "walrus", Scope()).hits]
    assert sorted(bodies) == sorted([text, "the walrus sleeps"])
    assert first


def test_the_same_words_of_two_projects_are_both_told(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem("deploy with the blue green script", project=name) for name in ("one", "two")])
    assert {hit.item.project for hit in recall(memory, "blue green deploy", Scope()).hits} == {"one", "two"}


def test_what_is_forgotten_is_not_recalled(memory: LocalMemory, ids: list[int]) -> None:
    forget_items(memory, [ids[3]])
    assert recall(memory, "landing page button", Scope()).hits == ()


def test_equals_are_ordered_newest_first(memory: LocalMemory, clock: Clock) -> None:
    made = []
    for n in range(4):
        clock.forward(minutes=1)
        made.append(remember(memory, NewItem("walrus seen", kind="observation", session=f"s{n}", project=f"p{n}")).id)
    assert [hit.item.id for hit in recall(memory, "walrus", Scope()).hits] == list(reversed(made))


def test_a_query_may_be_long_but_not_endless(memory: LocalMemory, ids: list[int]) -> None:
    assert recall(memory, ("redis " * 2000)[:MAX_QUERY], Scope()).hits[0].item.id == ids[2]
    with pytest.raises(TooLarge):
        recall(memory, "x" * (MAX_QUERY + 1), Scope())


@given(st.text(max_size=200))
def test_no_question_whatsoever_is_an_error(memory: LocalMemory, question: str) -> None:
    remember(memory, NewItem('a walrus, a (parenthesis) and "quotes"'))
    for hit in recall(memory, question, Scope(), 3).hits:
        assert 0.0 < hit.relevance < 1.0


def test_evidence_is_told_of_items_that_no_search_found(memory: LocalMemory, ids: list[int]) -> None:
    items = list(memory.store.get(ids).values())
    evidence = score_items(memory, "redis sessions", items)
    assert set(evidence) == set(ids)
    assert evidence[ids[2]][1] > 0.5
    assert evidence[ids[3]] == (0.0, 0.0)
