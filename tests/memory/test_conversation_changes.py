"""Organise: importance and status agree, what was is kept, and archiving and pinning can be undone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.conversations import (
    PINNED,
    STATUSES,
    ConversationChanges,
    NewConversation,
    NewMessage,
    conversation_history,
    find_session,
    forget_session,
    open_conversation,
    restore_session,
    store_conversation,
    unarchive_conversation,
    unpin_conversation,
    update_conversation,
)
from commonplace.memory.edit_and_forget import restore_items as restore_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope, Session


@pytest.fixture
def session(memory: LocalMemory) -> Session:
    return store_conversation(memory, NewConversation("Talk", [NewMessage("user", "the zebra")], importance=4)).session


def test_a_project_and_metadata_are_arranged_too(memory: LocalMemory, session: Session) -> None:
    changed = update_conversation(memory, session.id, ConversationChanges(project="My-App", meta={"a": 1}))
    assert (changed.project, dict(changed.meta)) == ("My-App", {"a": 1})
    assert len(recall(memory, "zebra", Scope(project="my-app")).hits) == 1
    assert update_conversation(memory, session.id, ConversationChanges(project=" ")).project is None
    assert recall(memory, "zebra", Scope(project="my-app")).hits == ()
    assert [change.before["project"] for change in conversation_history(memory, session.id)] == [None, "My-App"]


def test_what_is_said_in_the_other_project_too_does_not_keep_a_conversation_from_moving_there(
    memory: LocalMemory,
) -> None:
    for project in ("here", "there"):
        remember(memory, NewItem("the same words", kind="message", session="s", project=project))
    remember(memory, NewItem("the same words", kind="message", project="elsewhere"))
    moved = update_conversation(memory, "s", ConversationChanges(project="elsewhere"))
    assert (moved.project, moved.messages) == ("elsewhere", 2)
    assert [message.body for message in open_conversation(memory, "s")[1]] == ["the same words"] * 2
    assert [message.project for message in open_conversation(memory, "s")[1]] == ["elsewhere"] * 2
    assert update_conversation(memory, "s", ConversationChanges(project="here")).messages == 2


def test_archiving_and_pinning_are_undone(memory: LocalMemory, session: Session) -> None:
    assert unarchive_conversation(memory, session.id).rev == unpin_conversation(memory, session.id).rev == 1
    update_conversation(memory, session.id, ConversationChanges(status="pinned"))
    update_conversation(memory, session.id, ConversationChanges(status="archived"))
    back = unarchive_conversation(memory, session.id)
    assert (back.status, back.importance) == ("pinned", PINNED)
    back = unpin_conversation(memory, session.id)
    assert (back.status, back.importance) == ("active", 4.0)


def test_one_that_was_pinned_from_the_start_becomes_almost_that(memory: LocalMemory) -> None:
    session = store_conversation(memory, NewConversation("T", [NewMessage("user", "x")], importance=10)).session
    assert (unpin_conversation(memory, session.id).importance, find_session(memory, session.id).status) == (
        9.0,
        "active",
    )


def test_forgotten_and_restored(memory: LocalMemory, session: Session, clock: Clock) -> None:
    clock.forward(days=1)
    assert forget_session(memory, session.short_id).forgotten_ms == clock.now
    with pytest.raises(NotFound, match="no conversation"):
        update_conversation(memory, session.id, ConversationChanges(label="x"))
    assert recall(memory, "zebra", Scope()).hits == ()
    assert restore_session(memory, session.short_id).messages == 1
    assert restore_session(memory, session.short_id).rev == 3
    (hit,) = recall(memory, "zebra", Scope()).hits
    forget_session(memory, session.id)
    restore_items(memory, [hit.item.id])
    assert find_session(memory, session.id).messages == 1


steps = st.lists(
    st.tuples(st.sampled_from([None, *STATUSES]), st.sampled_from([None, 0, 3, 9.5, 10])), min_size=1, max_size=6
)


@given(script=steps)
def test_ten_and_pinned_always_agree(memory: LocalMemory, script: list[tuple[str | None, float | None]]) -> None:
    session = store_conversation(memory, NewConversation("T", [NewMessage("user", "x")], key=repr(script))).session
    for status, importance in script:
        before = find_session(memory, session.id)
        try:
            after = update_conversation(memory, session.id, ConversationChanges(status=status, importance=importance))
        except InvalidInput:
            assert (status, importance) in {
                (None, None), *(("pinned", n) for n in (0, 3, 9.5)), ("active", 10), ("archived", 10),
            }  # fmt: skip
            assert find_session(memory, session.id) == before
            continue
        assert (after.status == "pinned") == (after.importance == PINNED)
        assert status is None or after.status == status
        assert importance is None or after.importance == importance
