"""An export has every conversation, also those that move while it is made."""

from __future__ import annotations

import pytest

from commonplace.memory.conversations import (
    NewConversation,
    NewMessage,
    append_messages,
    store_conversation,
    store_conversations,
)
from commonplace.memory.export_conversations import all_conversations, conversation_export
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import SessionScope

NOW = 1_742_049_000_000


@pytest.fixture
def many(memory: LocalMemory) -> list[str]:
    """More conversations than are read at once, the newest first."""
    talks = [NewConversation(f"talk {n}", [NewMessage("user", f"words {n}", NOW + n)]) for n in range(450)]
    conversations = store_conversations(memory, talks)
    return [one.session.uid for one in reversed(conversations)]


def test_every_conversation_comes_once_the_newest_first(memory: LocalMemory, many: list[str]) -> None:
    assert [session.uid for session, _messages in all_conversations(memory, SessionScope())] == many
    assert list(all_conversations(memory, SessionScope(folder="/nowhere"))) == []


def test_one_that_gets_a_message_meanwhile_is_not_missed(memory: LocalMemory, many: list[str]) -> None:
    exported: list[tuple[str, int]] = []
    for session, messages in all_conversations(memory, SessionScope()):
        if not exported:
            append_messages(memory, many[-1], [NewMessage("user", "one more", NOW + 1000)])
        exported.append((session.uid, len(messages)))
    assert len(exported) == len(many) and dict(exported).keys() == set(many)
    assert exported[-1] == (many[-1], 2)


def test_only_what_was_said(memory: LocalMemory) -> None:
    store_conversation(memory, NewConversation("talk", [NewMessage("user", "words", NOW, {"model": "m"})]))
    ((session, messages),) = all_conversations(memory, SessionScope())
    bare = conversation_export(session, messages, metadata=False)
    assert bare.keys() == {"id", "label", "folder", "messages"}
