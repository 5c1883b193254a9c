"""Export: whole numbers without a point, titles where there are some, and nothing of what was forgotten."""

from __future__ import annotations

import pytest

from commonplace.memory.conversations import NewConversation, NewMessage, open_conversation, store_conversation
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.export_conversations import conversation_export, conversation_markdown, plain_score
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember


@pytest.mark.parametrize(("given", "shown"), [(9.0, "9"), (0.0, "0"), (7.5, "7.5"), (10.0, "10")])
def test_an_importance_is_shown_as_people_write_it(given: float, shown: str) -> None:
    assert str(plain_score(given)) == shown


def test_a_session_that_nobody_named_is_headed_by_its_agents_name_for_it(memory: LocalMemory) -> None:
    remember(memory, NewItem("Hello", kind="message", session="chat-7", details={"role": "assistant"}))
    text = conversation_markdown(*open_conversation(memory, "chat-7"))
    assert text.startswith("# chat-7\n\n**Folder:** /  \n**Importance:** 5/10  \n")
    assert text.endswith("**Assistant** (2025-03-15 14:30:00):  \nHello\n")


def test_what_was_forgotten_is_not_exported(memory: LocalMemory) -> None:
    session = store_conversation(
        memory, NewConversation("T", [NewMessage("user", "stay"), NewMessage("user", "go away")])
    ).session
    forget_items(memory, [open_conversation(memory, session.id)[1][1].id])
    exported = conversation_export(*open_conversation(memory, session.id))
    assert ([m["content"] for m in exported["messages"]], exported["message_count"], exported["word_count"]) == (
        ["stay"], 1, 1,
    )  # fmt: skip
    assert "go away" not in conversation_markdown(*open_conversation(memory, session.id))
