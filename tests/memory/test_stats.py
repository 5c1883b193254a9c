"""Stats: sums over a tree of folders follow everything that happens to conversations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.memory import conversations
from commonplace.memory.conversations import (
    ConversationChanges,
    NewConversation,
    NewMessage,
    store_conversation,
    update_conversation,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.status_and_stats import conversation_stats
from commonplace.text.paths import folder_names


def test_moved_forgotten_and_archived_conversations_are_counted_where_they_are(memory: LocalMemory) -> None:
    session = store_conversation(memory, NewConversation("T", [NewMessage("user", "two words")], "/a")).session
    update_conversation(memory, session.id, ConversationChanges(folder="/b/c"))
    assert (conversation_stats(memory, "/a").counts.sessions, conversation_stats(memory, "/b").counts.words) == (0, 2)
    update_conversation(memory, session.id, ConversationChanges(status="archived"))
    assert dict(conversation_stats(memory).counts.statuses) == {"archived": 1}
    conversations.forget_session(memory, session.id)
    assert conversation_stats(memory).counts.sessions == 0
    conversations.restore_session(memory, session.id)
    assert conversation_stats(memory, "/b/c").counts.messages == 1


def test_bytes_are_the_files_for_everything_and_the_texts_for_a_folder(memory: LocalMemory) -> None:
    store_conversation(memory, NewConversation("T", [NewMessage("user", "🦓")], "/a"))
    assert conversation_stats(memory).bytes == conversation_stats(memory, "/").bytes == memory.store.counts().bytes
    assert conversation_stats(memory, "/a").bytes == 4


def test_what_is_no_folder_is_refused(memory: LocalMemory) -> None:
    with pytest.raises(InvalidInput):
        conversation_stats(memory, " ")


folders = st.lists(st.lists(st.sampled_from(("work", "workshop", "w", "é", "a b")), max_size=3), min_size=1, max_size=6)


@given(trees=folders)
def test_a_folder_counts_its_tree(memory: LocalMemory, trees: list[list[str]]) -> None:
    root = f"r{abs(hash(repr(trees)))}"
    paths = ["/".join([root, *names]) for names in trees]
    for number, path in enumerate(paths):
        store_conversation(memory, NewConversation(f"{number}", [NewMessage("user", "x")], path))
    for path in paths:
        names = folder_names(path)
        inside = [other for other in paths if folder_names(other)[: len(names)] == names]
        assert conversation_stats(memory, path).counts.sessions == len(inside)
        assert sum(conversation_stats(memory, path).counts.folders.values()) == len(inside)
