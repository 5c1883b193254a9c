"""memory_update and memory_get_context: conversations are changed with a history, and read without a trace but one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import Call

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory import conversations
from commonplace.memory.edit_and_forget import forget_items, restore_items
from commonplace.memory.export_conversations import conversation_data
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Scope, SessionScope

WORDS = ["How can we optimize our database queries?", "Here are several strategies..."]


@pytest.fixture
def conversation(call: Call, clock: Clock) -> str:
    """The reference's conversation; the id it got."""
    stamps = ("2026-01-20T10:00:00Z", "2026-01-20T10:00:05Z")
    clock.now = 1_769_358_600_000
    id_: str = call(
        "memory_store", label="Database Optimization Discussion", folder="/work/engineering", importance_score=9.0,
        messages=[
            {"role": role, "content": content, "timestamp": stamp}
            for role, content, stamp in zip(("user", "assistant"), WORDS, stamps, strict=True)
        ],
    )["id"]  # fmt: skip
    return id_


@pytest.mark.promise(
    "sekha:memory_get_context:example-call",
    "sekha:memory_get_context.id",
    "sekha:memory_get_context.label",
    "sekha:memory_get_context.folder",
    "sekha:memory_get_context.status",
    "sekha:memory_get_context.importance_score",
    "sekha:memory_get_context.messages",
    "sekha:memory_get_context.message_count",
    "sekha:memory_get_context.word_count",
    "sekha:memory_get_context.created_at",
    "sekha:memory_get_context:messages.role",
    "sekha:memory_get_context:messages.content",
    "sekha:memory_get_context:messages.timestamp",
    "sekha:decided:words",
)
def test_the_example_of_reading(call: Call, conversation: str) -> None:
    data = call("memory_get_context", conversation_id=conversation)
    for extra in ("updated_at", "last_accessed"):
        data.pop(extra)
    for message in data["messages"]:
        assert len(message.pop("id")) == 36
    assert data == {
        "id": conversation,
        "label": "Database Optimization Discussion",
        "folder": "/work/engineering",
        "status": "active",
        "importance_score": 9,
        "messages": [
            {"role": "user", "content": WORDS[0], "timestamp": "2026-01-20T10:00:00Z"},
            {"role": "assistant", "content": WORDS[1], "timestamp": "2026-01-20T10:00:05Z"},
        ],
        "message_count": 2,
        "word_count": 11,
        "created_at": "2026-01-20T10:00:00Z",
    }


@pytest.mark.promise(
    "sekha:memory_update:example-call",
    "sekha:memory_update:label",
    "sekha:memory_update:folder",
    "sekha:memory_update:importance",
)
def test_the_example_of_changing(call: Call, conversation: str, clock: Clock, memory: LocalMemory) -> None:
    before = call("memory_get_context", conversation_id=conversation)
    clock.forward(days=1)
    data = call(
        "memory_update", conversation_id=conversation, label="Database Optimization - Completed",
        folder="/work/archive", importance_score=7.0,
    )  # fmt: skip
    assert data["conversation_id"] == conversation
    after = call("memory_get_context", conversation_id=conversation)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"label", "folder", "importance_score", "updated_at", "last_accessed"}
    assert (after["label"], after["folder"], after["importance_score"]) == (
        "Database Optimization - Completed", "/work/archive", 7,
    )  # fmt: skip
    (was,) = conversations.conversation_history(memory, conversation)
    assert (was.before["label"], was.before["folder"]) == (before["label"], before["folder"])


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("label", " New \n title ", "New title"),
        ("label", "🦓" * 500, "🦓" * 500),
        ("folder", "a b/ç", "/a b/ç"),
        ("importance_score", 0, 0),
        ("importance_score", 3.5, 3.5),
        ("status", "archived", "archived"),
    ],
)
@pytest.mark.promise("sekha:memory_update:importance-range", "sekha:decided:status")
def test_one_field_changes_and_the_others_stay(
    call: Call, conversation: str, name: str, value: object, stored: object
) -> None:
    before = call("memory_get_context", conversation_id=conversation)
    call("memory_update", conversation_id=conversation, **{name: value})
    after = call("memory_get_context", conversation_id=conversation)
    assert {n for n in before if before[n] != after[n]} <= {name, "last_accessed"}
    assert after[name] == stored


@pytest.mark.parametrize(
    ("steps", "score", "status"),
    [
        ([{"importance_score": 10}], 10, "pinned"),
        ([{"status": "pinned"}], 10, "pinned"),
        ([{"status": "pinned", "importance_score": 10}], 10, "pinned"),
        ([{"status": "pinned"}, {"status": "active"}], 9, "active"),
        ([{"importance_score": 4}, {"status": "pinned"}, {"status": "active"}], 4, "active"),
        ([{"importance_score": 10}, {"importance_score": 6}], 6, "active"),
        ([{"status": "archived"}, {"importance_score": 2}], 2, "archived"),
        ([{"status": "archived"}, {"status": "active"}], 9, "active"),
        ([{"status": "archived"}, {"status": "pinned"}], 10, "pinned"),
        ([{"importance_score": 4}, {"status": "pinned"}, {"status": "archived"}], 4, "archived"),
        ([{"status": "pinned"}, {"status": "archived"}, {"status": "active"}], 9, "active"),
        ([{"status": "archived"}, {"importance_score": 10}], 10, "pinned"),
        ([{"status": "pinned"}, {"status": "archived", "importance_score": 3}], 3, "archived"),
    ],
)
@pytest.mark.promise("sekha:decided:status", "sekha:decided:pinned-agrees")
def test_ten_is_pinned_and_pinned_is_ten(
    call: Call, conversation: str, steps: list[dict[str, Any]], score: float, status: str
) -> None:
    for step in steps:
        data = call("memory_update", conversation_id=conversation, **step)
    assert (data["importance_score"], data["status"]) == (score, status)


@pytest.mark.parametrize(
    "pair",
    [
        {"status": "pinned", "importance_score": 3},
        {"status": "active", "importance_score": 10},
        {"status": "archived", "importance_score": 10},
    ],
)
@pytest.mark.promise("sekha:decided:pinned-agrees")
def test_what_contradicts_itself_is_refused(call: Call, conversation: str, pair: dict[str, Any]) -> None:
    before = call("memory_get_context", conversation_id=conversation)
    with pytest.raises(InvalidInput, match="pinned"):
        call("memory_update", conversation_id=conversation, **pair)
    assert call("memory_get_context", conversation_id=conversation) == before | {
        "last_accessed": "2026-01-25T16:30:00Z"
    }


@pytest.mark.promise("sekha:bad-input:nothing-to-change")
def test_an_update_of_nothing_is_refused(call: Call, conversation: str) -> None:
    with pytest.raises(InvalidInput, match="Nothing to change") as refused:
        call("memory_update", conversation_id=conversation)
    assert "label, folder, importance_score and status" in refused.value.hint


@pytest.mark.promise("sekha:decided:any-id")
def test_any_spelling_of_an_id_will_do(call: Call, conversation: str) -> None:
    message = call("memory_get_context", conversation_id=conversation)["messages"][1]["id"]
    for spelled in (
        conversation.upper(),
        conversation.replace("-", ""),
        conversation[-12:],
        f" {conversation} ",
        message,
    ):
        assert call("memory_get_context", conversation_id=spelled)["id"] == conversation


@pytest.mark.parametrize("id_", ["conv-uuid", "0", "-1", "99999", "0" * 36, "x" * 5000, "'; --", "\ud800"])
@pytest.mark.parametrize("tool", ["memory_get_context", "memory_export", "memory_update"])
@pytest.mark.promise("sekha:errors:not-found")
def test_an_id_that_nothing_has_is_not_found(call: Call, conversation: str, tool: str, id_: str) -> None:
    more = {"label": "x"} if tool == "memory_update" else {}
    with pytest.raises(NotFound, match="There is no conversation") as refused:
        call(tool, conversation_id=id_, **more)
    assert "conversation_id" in refused.value.hint and len(refused.value.message) < 200


def test_a_forgotten_conversation_tells_how_to_get_it_back(call: Call, conversation: str, memory: LocalMemory) -> None:
    conversations.forget_session(memory, conversation)
    with pytest.raises(NotFound) as refused:
        call("memory_get_context", conversation_id=conversation)
    assert f"restore {conversation[-12:]}" in refused.value.hint


def state(memory: LocalMemory) -> object:
    """Everything that is kept of conversations, but when each was last read."""
    sessions = memory.store.get_sessions(range(1, 10)).values()
    lines = []
    for session in sessions:
        data = conversation_data(session, memory.store.messages_of(session.id))
        lines.append((data | {"last_accessed": None}, session.rev, memory.store.session_history(session.id)))
    return (
        lines,
        memory.store.newest(Scope(), 100),
        # A database server takes and returns room on its own.
        replace(memory.store.counts(), bytes=0),
        memory.store.session_counts(SessionScope(), 100),
    )


READS: list[tuple[str, dict[str, Any], bool]] = [
    ("memory_get_context", {"conversation_id": True}, True),
    ("memory_export", {"conversation_id": True}, True),
    ("memory_export", {"conversation_id": True, "format": "markdown"}, True),
    ("memory_search", {"query": "database"}, False),
    ("memory_prune", {"threshold_days": 0, "importance_threshold": 10}, False),
    ("memory_stats", {}, False),
    ("memory_stats", {"folder": "/work"}, False),
]


@pytest.mark.parametrize(("tool", "arguments", "opens"), READS)
@pytest.mark.promise("sekha:decided:reading", "sekha:memory_prune:only-suggests")
def test_reading_leaves_nothing_but_the_time_of_it(
    call: Call, conversation: str, clock: Clock, memory: LocalMemory, tool: str, arguments: dict[str, Any], opens: bool
) -> None:
    call("memory_store", label="Other", folder="/", messages=[{"role": "user", "content": "about a database"}])
    before = state(memory)
    (session,) = [one for one in memory.store.get_sessions(range(1, 10)).values() if one.uid == conversation]
    assert session.accessed_ms is None
    clock.forward(days=3)
    call(tool, **{name: conversation if value is True else value for name, value in arguments.items()})
    assert state(memory) == before
    now = memory.store.get_sessions([session.id])[session.id]
    assert now.accessed_ms == (clock.now if opens else None)


@pytest.mark.promise("sekha:decided:counts-true")
def test_a_message_that_goes_and_comes_back_is_counted(call: Call, conversation: str, memory: LocalMemory) -> None:
    message = call("memory_get_context", conversation_id=conversation)["messages"][0]["id"]
    forget_items(memory, [message])
    data = call("memory_get_context", conversation_id=conversation)
    assert (data["message_count"], data["word_count"], len(data["messages"])) == (1, 4, 1)
    assert call("memory_stats")["total_words"] == 4
    restore_items(memory, [message])
    data = call("memory_get_context", conversation_id=conversation)
    assert [m["content"] for m in data["messages"]] == WORDS
    assert (data["message_count"], data["word_count"]) == (2, 11)
