"""Sekha: conversations are the same conversations here, under the same ids."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.memory.conversations import open_conversation
from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope

from .conftest import ImportDatabase
from .databases import AT, SEKHA, Rows

ItemsByTitle = Callable[..., dict[str, Item]]
TALK, EMPTY = "8c0f3a52-6d6f-4a49-9a3c-5d1f4b7f9a10", "8c0f3a52-6d6f-4a49-9a3c-5d1f4b7f9a11"
FIRST, SECOND = "0a0f3a52-6d6f-4a49-9a3c-5d1f4b7f9a10", "0a0f3a52-6d6f-4a49-9a3c-5d1f4b7f9a11"
AT_SPACED = "2025-03-15 14:30:00.000000000"
ABOUT = {"label": "Rate limits", "folder": "/work/api", "status": "active", "importance_score": 8, "word_count": 40}
ROWS: Rows = {
    "conversations": [
        {"id": TALK, **ABOUT, "created_at": AT_SPACED, "updated_at": "2025-03-16 00:00:00"},
        {"id": EMPTY, **ABOUT},
    ],
    "messages": [
        {"id": SECOND, "conversation_id": TALK, "role": "assistant", "content": "By a bucket"}
        | {"timestamp": "2025-03-15 14:31:00", "metadata": '{"model": "m1"}', "embedding_id": "x"},
        {"id": FIRST, "conversation_id": TALK, "role": "User", "content": "How?", "timestamp": AT_SPACED},
        {"id": "lost", "conversation_id": "gone", "role": "user", "content": "Lost", "timestamp": AT_SPACED},
    ],
    "semantic_tags": [{"id": "t1", "conversation_id": TALK, "tag": "redis", "confidence": 0.9}],
    "hierarchical_summaries": [
        {"id": "h1", "conversation_id": TALK, "level": "daily", "summary_text": "Rates were limited"}
        | {"generated_at": AT_SPACED, "model_used": "m1"}
    ],
    "knowledge_graph_edges": [
        {"subject_id": "limiter", "predicate": "depends_on", "object_id": "redis", "conversation_id": TALK}
    ],
}


def test_a_conversation_is_the_same_here_with_its_messages(memory: LocalMemory, move_in: ImportDatabase) -> None:
    summary = move_in(SEKHA, ROWS)
    assert (summary.conversations.added, summary.messages.added, summary.items.added) == (1, 2, 2)
    session, (question, answered) = open_conversation(memory, TALK)
    assert (session.uid, session.label, session.folder, session.importance) == (TALK, "Rate limits", "/work/api", 8.0)
    assert (session.status, session.source, session.started_ms) == ("active", "sekha", AT)
    assert session.meta["tags"] == ["redis"]
    assert (question.uid, question.body, question.details["role"], question.created_ms) == (FIRST, "How?", "user", AT)
    assert (answered.uid, answered.meta["model"]) == (SECOND, "m1")


def test_what_was_made_of_it_belongs_to_it(memory: LocalMemory, move_in: ImportDatabase) -> None:
    move_in(SEKHA, ROWS)
    (summed,) = browse_items(memory, Scope(kinds=("summary",))).items
    assert (summed.body, summed.type, summed.session) == ("Rates were limited", "daily", f"sekha:{TALK}")
    (fact,) = browse_items(memory, Scope(kinds=("memory",))).items
    assert (fact.body, fact.type) == ("limiter depends on redis", "fact")


def test_ten_is_pinned_and_an_unknown_status_is_kept_as_such(memory: LocalMemory, move_in: ImportDatabase) -> None:
    talk = dict(ROWS["conversations"][0])
    message = dict(ROWS["messages"][1])
    move_in(SEKHA, {"conversations": [talk | {"importance_score": 10}], "messages": [message]})
    assert open_conversation(memory, TALK)[0].status == "pinned"
    other = {"conversations": [talk | {"id": EMPTY, "status": "resting"}]}
    move_in(SEKHA, other | {"messages": [message | {"id": SECOND, "conversation_id": EMPTY}]})
    session = open_conversation(memory, EMPTY)[0]
    assert (session.status, session.meta["status"]) == ("active", "resting")


def test_what_had_no_place_is_told(move_in: ImportDatabase) -> None:
    assert move_in(SEKHA, ROWS).reasons == {
        ("message", "its conversation no longer exists"): 1,
        ("conversation", "it has no messages"): 1,
        ("column", "it is rebuilt here"): 3,
    }
