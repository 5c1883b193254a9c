"""Twins: the same said again is one memory or linked, shown once, and merged only when asked."""

from __future__ import annotations

import pytest

from commonplace.memory.authors import with_writer
from commonplace.memory.contradictions import REPEATS, texts_digest
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, Remembered, remember_item
from commonplace.memory.settle_contradictions import reopen_contradiction, settle_contradiction
from commonplace.memory.statement_pairs import list_contradictions
from commonplace.model import SAME_AS, Author, Scope
from commonplace.text.statement_guards import guard, may_be_paraphrase

SAID = "Node 20 is required for all builds"
REORDERED = "For all builds Node 20 is required"


def state_fact(
    memory: LocalMemory, text: str, project: str | None = "p", author: str | None = None, **more: str
) -> Remembered:
    writing = memory if author is None else with_writer(memory, Author(author, "person"))
    return remember_item(writing, NewItem(text, type="fact", project=project, tags=tuple(more.values())))


@pytest.mark.parametrize(
    "again",
    ["node 20 is required for all builds", f"{SAID}.", f"{SAID}!", f"  {SAID} ", "Node 20 is required, for all builds"],
)
def test_case_spacing_and_punctuation_make_no_other_memory(memory: LocalMemory, again: str) -> None:
    first = state_fact(memory, SAID)
    second = state_fact(memory, again)
    assert second.duplicate and second.item.id == first.item.id


@pytest.mark.parametrize(("one", "other"), [("Use C", "Use C++"), ("We deploy on Fridays", "We deploy on Fridays?")])
def test_marks_that_mean_something_tell_statements_apart(memory: LocalMemory, one: str, other: str) -> None:
    state_fact(memory, one)
    assert not state_fact(memory, other).duplicate


def test_another_order_is_linked_and_shown_once(memory: LocalMemory) -> None:
    first = state_fact(memory, SAID).item
    second = state_fact(memory, REORDERED)
    assert not second.duplicate and [twin.id for twin in second.twins] == [first.id]
    assert second.item.meta[SAME_AS] == [first.uid]
    (hit,) = recall(memory, "which node is required for builds", Scope.around("p")).hits
    assert {hit.item.id, *(twin.id for twin in hit.twins)} == {first.id, second.item.id}


def test_other_authors_and_projects_are_not_linked(memory: LocalMemory) -> None:
    state_fact(memory, SAID, author="anna")
    assert SAME_AS not in state_fact(memory, REORDERED, author="ben").item.meta
    assert state_fact(memory, REORDERED, project="q", author="anna").twins == ()


def test_merging_keeps_the_tags_and_can_be_undone(memory: LocalMemory) -> None:
    first, second = state_fact(memory, SAID, tag="a").item, state_fact(memory, REORDERED, tag="b").item
    (pair,) = list_contradictions(memory, "p", twins=True)
    assert (pair.older.id, pair.newer.id, pair.reason) == (first.id, second.id, "same")
    assert list_contradictions(memory, "p") == []
    (stored,) = settle_contradiction(memory, first.id, second.id, "new").kept
    assert set(stored.tags) == {"a", "b"}
    reopen_contradiction(memory, first.id, second.id)
    assert get_item(memory, first.id).superseded_by is None


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        ("Mila prefers tea to coffee", "Mila prefers coffee to tea", 0.99),
        ("The limit is 100", "The limit is 200", 0.99),
        ("Use tabs, not spaces", "Use spaces, not tabs", 0.99),
        ("Team Ada beat team Bob", "Team Bob beat team Ada", 0.99),
        ("The service writes to syslog", "The service writes to syslog and to a file", 0.99),
        ("Backups are tested monthly", "Backups are encrypted", 0.5),
    ],
)
def test_what_differs_is_not_the_same(one: str, other: str, cosine: float) -> None:
    assert guard(one, other) != "same" and not may_be_paraphrase(one, other, cosine)


def test_a_paraphrase_needs_a_model_that_finds_it_close() -> None:
    one, other = "Lunch breaks last 30 minutes", "Lunch pauses take 30 minutes"
    assert not may_be_paraphrase(one, other, 0.5)
    assert may_be_paraphrase(one, other, 0.95)


def test_what_says_the_same_is_never_a_contradiction_as_well(memory_with_model: LocalMemory) -> None:
    memory = memory_with_model
    memory.embeddings.embed_query("load the model")
    first = remember_item(memory, NewItem("Use tofu, not terraform", type="rule", project="p")).item
    memory.embeddings.catch_up()
    second = remember_item(memory, NewItem("Use tofu, never terraform", type="rule", project="p"))
    assert second.contradictions == () and [twin.id for twin in second.twins] == [first.id]
    for read in (0, 10):
        assert list_contradictions(memory, "p", read=read) == []
        (pair,) = list_contradictions(memory, "p", twins=True, read=read)
        assert (pair.older.id, pair.newer.id, pair.reason) == (first.id, second.item.id, "same")
    settle_contradiction(memory, first.id, second.item.id, "both")
    assert reopen_contradiction(memory, first.id, second.item.id).reason == "same"


def test_what_the_model_knew_to_be_the_same_stays_that_without_it(memory: LocalMemory) -> None:
    """Whoever wrote it, and in every list."""
    first = state_fact(memory, "Builds need Node 20", author="anna").item
    second = state_fact(memory, "Builds require Node 20", author="ben").item
    noted = {REPEATS: {first.uid: texts_digest(first, second)}}
    edit_item(memory, second.id, Changes(meta=noted))
    assert [pair.reason for pair in list_contradictions(memory, "p", twins=True)] == ["same"]
    assert list_contradictions(memory, "p", read=10) == []
