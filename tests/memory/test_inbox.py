"""Everything that waits for a person, in one place, and what is kept of it between two looks."""

from __future__ import annotations

from dataclasses import replace

from tests.conftest import THEN

from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.inbox import PruneThresholds, read_inbox
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.settle_contradictions import settle_contradiction

DAY = 86_400_000


def fill(memory: LocalMemory, project: str) -> None:
    remember(memory, NewItem(f"Proposed in {project}", type="rule", project=project, review="proposed"))
    for text in ("The cache holds 60 entries", "The cache holds 10 entries"):
        remember(memory, NewItem(text, type="fact", project=project))
    for text in ("Never deploy on Fridays", "Do not deploy on a Friday"):
        remember(memory, NewItem(text, type="rule", project=project))
    messages = [NewMessage("user", f"About {project}", THEN - 90 * DAY)]
    store_conversation(memory, NewConversation(f"Old {project}", messages, importance=2, project=project))


def test_all_kinds_are_there_of_every_project_or_of_one(memory: LocalMemory) -> None:
    fill(memory, "dam")
    fill(memory, "weir")
    everything = read_inbox(memory)
    assert [len(everything.proposals), len(everything.contradictions), len(everything.twins)] == [2, 2, 2]
    assert len(everything.conversations) == 2 and everything.total == 8
    assert read_inbox(memory, "weir").total == 4
    found = read_inbox(for_project(memory, "weir"))
    assert {pair.newer.project for pair in (*found.contradictions, *found.twins)} == {"weir"}
    assert [one.session.label for one in found.conversations] == ["Old weir"] and found.total == 4
    assert read_inbox(memory, "weir", PruneThresholds(days=100)).conversations == ()


def test_what_a_server_of_a_project_was_shown_is_not_shown_to_a_key_for_that_project(memory: LocalMemory) -> None:
    fill(memory, "dam")
    fill(memory, "weir")
    # A server whose own project is weir still sees everything; whoever may use weir only does not.
    server = replace(memory, settings=replace(memory.settings, project="weir"))
    assert read_inbox(server).total == 8
    found = read_inbox(for_project(server, "weir"))
    assert {pair.newer.project for pair in (*found.contradictions, *found.twins)} == {"weir"}
    assert [one.session.label for one in found.conversations] == ["Old weir"] and found.total == 4


def test_what_was_decided_is_gone_at_the_next_look(memory: LocalMemory) -> None:
    fill(memory, "dam")
    (pair,) = read_inbox(memory).contradictions
    settle_contradiction(memory, pair.older.id, pair.newer.id, "new")
    assert read_inbox(memory).contradictions == () and len(read_inbox(memory).twins) == 1
