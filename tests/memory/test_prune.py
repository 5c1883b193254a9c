"""Prune: proposals from what is really there, also of very many conversations that are much alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.conftest import THEN, Clock

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import (
    NewConversation,
    NewMessage,
    append_messages,
    find_session,
    open_conversation,
    store_conversation,
    store_conversations,
)
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import NEARLY_ALL, find_prunable
from commonplace.text.near_duplicates import sketch, sketch_similarity

DAY = 86_400_000


def old(label: str, *lines: str, days: int = 40, importance: float = 2, folder: str = "/") -> NewConversation:
    messages = [NewMessage("user", line, THEN - days * DAY) for line in lines]
    return NewConversation(label, messages, folder, importance=importance)


def test_a_message_makes_a_conversation_young_again(memory: LocalMemory, clock: Clock) -> None:
    session = store_conversation(memory, old("Standup", "nothing new")).session
    assert [candidate.age_days for candidate in find_prunable(memory).candidates] == [40]
    append_messages(memory, session.id, [NewMessage("user", "something new")])
    assert find_prunable(memory).candidates == ()
    clock.forward(days=31)
    (candidate,) = find_prunable(memory).candidates
    assert candidate.age_days == 31


def test_a_folder_means_its_tree(memory: LocalMemory) -> None:
    for folder in ("/work", "/work/a", "/workshop"):
        store_conversation(memory, old(folder, f"in {folder}", folder=folder))
    found = {candidate.session.folder for candidate in find_prunable(memory, folder="/work").candidates}
    assert found == {"/work", "/work/a"}


def test_a_twin_is_one_no_longer_once_it_says_something_else(memory: LocalMemory) -> None:
    lines = [f"line {n}" for n in range(5)]
    conversation = store_conversation(memory, old("Kept", *lines, importance=8)).session
    twin = store_conversation(memory, old("Twin", *lines)).session
    assert [c.duplicate_of for c in find_prunable(memory).candidates] == [find_session(memory, conversation.id)]
    for message in open_conversation(memory, twin.id)[1][:2]:
        edit_item(memory, message.id, Changes(content=f"not {message.body}"))
    assert [c.duplicate_of for c in find_prunable(memory).candidates] == [None]


def test_bytes_are_those_of_the_candidates(memory: LocalMemory) -> None:
    store_conversation(
        memory, NewConversation("A", [NewMessage("user", "🦓" * 10, THEN - 40 * DAY, {"k": "ü"})], importance=1)
    )
    store_conversation(memory, old("B", "kept " * 100, importance=7))
    assert find_prunable(memory).bytes == 40 + len('{"k":"ü"}'.encode())


@pytest.mark.parametrize(("days", "importance"), [(-1, 5.0), (36_501, 5.0), (30, -0.5), (30, 10.5)])
def test_thresholds_have_borders(memory: LocalMemory, days: int, importance: float) -> None:
    with pytest.raises(InvalidInput, match="Invalid"):
        find_prunable(memory, days, importance)


def test_thousands_that_say_the_same_are_compared_in_time(memory: LocalMemory) -> None:
    same = [old(f"Same {n}", "ok", "thanks", days=40 + n % 7) for n in range(1000)]
    other = [old(f"Other {n}", "ok", "thanks", f"about {n}", f"and {n * n}") for n in range(1000)]
    conversations = store_conversations(memory, [*same, *other, old("Best", "ok", "thanks", importance=3)])
    candidates = find_prunable(memory).candidates
    assert len(candidates) == 2001
    repeated = [candidate for candidate in candidates if candidate.duplicate_of is not None]
    assert len(repeated) == 1000
    assert {candidate.duplicate_of.id for candidate in repeated if candidate.duplicate_of} == {
        conversations[-1].session.id
    }


texts = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8)


@given(messages=st.lists(texts, min_size=2, max_size=6))
@hypothesis_settings(max_examples=40)
def test_exactly_those_that_are_nearly_the_same_are_called_so(memory: LocalMemory, messages: list[list[str]]) -> None:
    folder = f"/{abs(hash(repr(messages)))}"
    lines = [[f"{folder} {letter}" for letter in one] for one in messages]
    conversations = store_conversations(memory, [old(f"{n}", *one, folder=folder) for n, one in enumerate(lines)])
    ids = {k.session.id: one for k, one in zip(conversations, lines, strict=True)}
    for candidate in find_prunable(memory, folder=folder).candidates:
        mine = sketch(ids[candidate.session.id])
        better = [
            id_
            for id_, one in ids.items()
            if id_ > candidate.session.id and sketch_similarity(mine, sketch(one)) >= NEARLY_ALL
        ]
        assert (None if candidate.duplicate_of is None else candidate.duplicate_of.id) == max(better, default=None)
