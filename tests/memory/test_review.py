"""The review queue: what was proposed is accepted, changed or dismissed by people, and all of that can be undone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from commonplace.errors import Conflict, Forbidden, NotFound
from commonplace.memory.authors import for_agent, for_capture, with_writer
from commonplace.memory.context import build_context, plain_tokens
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember_item
from commonplace.memory.review import accept, accept_changed, dismiss, list_proposals, undo_review
from commonplace.memory.rules import active_rules, rule_set
from commonplace.model import Author, Item, Scope

ANNA = Author("anna", "person")


@pytest.fixture
def anna(memory: LocalMemory) -> LocalMemory:
    return with_writer(memory, ANNA)


def propose(memory: LocalMemory, text: str, project: str | None = None, type_: str = "rule") -> Item:
    new = NewItem(text, type=type_, project=project, review="proposed")
    return remember_item(for_capture(memory, "claude-code"), new).item


def waiting(memory: LocalMemory) -> list[int]:
    return [item.id for item in list_proposals(memory).items]


def found(memory: LocalMemory, question: str) -> list[int]:
    return [hit.item.id for hit in recall(memory, question, Scope())]


def test_a_proposal_is_found_but_rules_contexts_and_rule_files_leave_it_out(anna: LocalMemory) -> None:
    agreed = remember_item(anna, NewItem("Tabs in zebra files", type="rule")).item
    item = propose(anna, "Spaces in zebra makefiles")
    assert item.review == "proposed" and waiting(anna) == [item.id]
    assert set(found(anna, "zebra")) == {agreed.id, item.id}
    assert [rule.id for rule in active_rules(anna, None).everywhere] == [agreed.id]
    assert [rule.id for rule in rule_set(anna, None).rules] == [agreed.id]
    for query in (None, "zebra makefiles"):
        context = build_context(anna, None, query, 2000, plain_tokens)
        assert [entry.item.id for entry in context.items] == [agreed.id]


def test_accepting_makes_it_agreed_under_the_name_of_who_accepts(anna: LocalMemory) -> None:
    item = propose(anna, "Spaces in zebra makefiles")
    (accepted,) = accept(anna, [item.id])
    assert (accepted.author, accepted.origin, accepted.review) == ("anna", "agreed", "accepted")
    assert waiting(anna) == [] and [rule.id for rule in active_rules(anna, None).everywhere] == [item.id]
    with pytest.raises(Conflict, match="not waiting"):
        accept(anna, [item.id])
    again = undo_review(anna, item.id)
    assert (again.author, again.origin, again.review) == ("anna via claude-code", "captured", "proposed")
    assert waiting(anna) == [item.id]


def test_accepting_with_other_words(anna: LocalMemory) -> None:
    item = propose(anna, "Spaces in zebra makefiles")
    changed = accept_changed(anna, item.id, Changes(content="Tabs in zebra makefiles", type="decision"))
    assert (changed.body, changed.type, changed.origin) == ("Tabs in zebra makefiles", "decision", "person")
    assert changed.review is None and waiting(anna) == []


def test_what_is_dismissed_vanishes_and_is_not_proposed_again(anna: LocalMemory) -> None:
    item = propose(anna, "Spaces in zebra makefiles")
    dismiss(anna, [item.id])
    assert waiting(anna) == found(anna, "zebra") == []
    with pytest.raises(NotFound):
        get_item(anna, item.id)
    assert propose(anna, "Spaces in zebra makefiles").id == item.id
    assert waiting(anna) == []
    undo_review(anna, item.id)
    assert waiting(anna) == found(anna, "zebra") == [item.id]


def test_a_person_who_says_it_again_agrees_with_it(anna: LocalMemory) -> None:
    item = propose(anna, "Spaces in zebra makefiles")
    same = remember_item(anna, NewItem("spaces in zebra makefiles.", type="rule"))
    assert same.duplicate and (same.item.id, same.item.origin, same.item.review) == (item.id, "agreed", "accepted")
    other = propose(anna, "Oats for the zebra")
    assert (
        remember_item(for_agent(anna, "cursor"), NewItem("Oats for the zebra", type="rule")).item.review == "proposed"
    )
    assert waiting(anna) == [other.id]


def test_what_an_agent_changes_of_a_proposal_is_still_one(anna: LocalMemory) -> None:
    item = propose(anna, "Spaces in zebra makefiles")
    edited = edit_item(for_agent(anna, "cursor"), item.id, Changes(content="Tabs in zebra makefiles"))
    assert (edited.review, edited.author) == ("proposed", "anna via cursor")


def test_no_agent_reviews(anna: LocalMemory) -> None:
    item = propose(anna, "Spaces in zebra makefiles")
    agent = for_agent(anna, "cursor")
    for review in (
        lambda: accept(agent, [item.id]),
        lambda: accept_changed(agent, item.id, Changes(content="x")),
        lambda: dismiss(agent, [item.id]),
        lambda: undo_review(agent, item.id),
    ):
        with pytest.raises(Forbidden, match="Only a person can review"):
            review()
    assert waiting(anna) == [item.id]


def test_a_project_key_reviews_its_own_project_only(anna: LocalMemory) -> None:
    here, there = propose(anna, "Spaces in zebra makefiles", "web"), propose(anna, "Oats for the zebra", "api")
    limited = for_project(anna, "web")
    assert waiting(limited) == [here.id]
    for id_ in (there.id, there.uid):
        with pytest.raises(NotFound):
            accept(limited, [id_])
        with pytest.raises(NotFound):
            dismiss(limited, [id_])
    accept(limited, [here.id])
    assert waiting(anna) == [there.id]


def test_what_agents_write_waits_where_the_setting_says_so(anna: LocalMemory) -> None:
    strict = replace(anna, settings=replace(anna.settings, agent_memories="proposed"))
    item = remember_item(for_agent(strict, "cursor"), NewItem("Spaces in zebra makefiles", type="rule")).item
    assert item.review == "proposed"
    assert remember_item(strict, NewItem("Oats for the zebra")).item.review is None
    event = remember_item(for_agent(strict, "cursor"), NewItem("Fed the zebra", kind="observation")).item
    assert event.review is None, "what happened is no proposal"
