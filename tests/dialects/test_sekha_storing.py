"""memory_store: conversations are kept whole, once, with everything that was given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.conftest import Clock
from tests.dialects.conftest import TOOLS, Call

from commonplace.dialects.tool_profiles import tools_of
from commonplace.memory import conversations
from commonplace.memory.draft import UNSTORABLE
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.redact import redact

# 2026-01-25T16:30:00Z, when the reference's example is stored.
STORED = 1_769_358_600_000
SECRET = "ghp_" + "A1b2C3d4E5" * 3 + "F6g7H8"
EXAMPLE: dict[str, Any] = {
    "label": "Database Optimization Discussion",
    "folder": "/work/engineering",
    "messages": [
        {"role": "user", "content": "How can we optimize our database queries?"},
        {"role": "assistant", "content": "Here are several strategies..."},
    ],
    "importance_score": 9.0,
}
PARAMETERS = {
    "memory_store": {"label": "string!", "folder": "string!", "messages": "array!", "importance_score": "number"},
    "memory_search": {"query": "string!", "limit": "number", "filter_labels": "array"},
    "memory_update": {
        "conversation_id": "string!", "label": "string", "folder": "string", "importance_score": "number",
        "status": "string",
    },
    "memory_get_context": {"conversation_id": "string!"},
    "memory_prune": {"threshold_days": "number", "importance_threshold": "number"},
    "memory_export": {"conversation_id": "string!", "format": "string", "include_metadata": "boolean"},
    "memory_stats": {"folder": "string"},
}  # fmt: skip


def one(content: str = "Hello", **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content, **more}]


@pytest.mark.promise("sekha:tools:seven", "sekha:tools:parameters", "sekha:decided:profiles")
def test_the_seven_tools_have_the_parameters_of_the_reference() -> None:
    found_by_name = {}
    for tool in tools_of("sekha"):
        schema: dict[str, Any] = tool.input_schema()
        required = schema.get("required", [])
        found_by_name[tool.name] = {
            name: param["type"] + ("!" if name in required else "") for name, param in schema["properties"].items()
        }
    assert found_by_name == PARAMETERS
    assert {tool.name for tool in tools_of("all")} >= found_by_name.keys()


@pytest.mark.promise(
    "sekha:memory_store:example-call",
    "sekha:memory_store.id",
    "sekha:memory_store.conversation_id",
    "sekha:memory_store.label",
    "sekha:memory_store.status",
    "sekha:memory_store.message_count",
    "sekha:memory_store.created_at",
)
def test_the_example_call(call: Call, clock: Clock) -> None:
    clock.now = STORED
    data = call("memory_store", **EXAMPLE)
    assert len(data["id"]) == 36
    shown = {name: data[name] for name in ("conversation_id", "label", "status", "message_count", "created_at")}
    assert shown == {
        "conversation_id": data["id"],
        "label": "Database Optimization Discussion",
        "status": "active",
        "message_count": 2,
        "created_at": "2026-01-25T16:30:00Z",
    }


@pytest.mark.promise(
    "sekha:memory_store:roles",
    "sekha:memory_store:timestamp-kept",
    "sekha:memory_store:timestamp-optional",
    "sekha:memory_store:metadata-kept",
    "sekha:memory_get_context:all-messages",
)
def test_messages_keep_order_role_timestamp_and_metadata(call: Call, clock: Clock) -> None:
    clock.now = STORED
    metadata = {"model": "m-1", "tokens": 12, "nested": {"list": [1, None, True, "ä"]}, "": ""}
    given_ = [
        {"role": "system", "content": "Be brief.", "timestamp": "2026-01-20T10:00:05Z"},
        {"role": "user", "content": "  Hi there \n", "timestamp": "2026-01-20T12:00:00+02:00", "metadata": metadata},
        {"role": "assistant", "content": "Hello", "timestamp": "2026-01-20T10:00:00.250Z", "metadata": {}},
        {"role": "tool", "content": "42", "timestamp": None, "metadata": None},
        {"role": "user", "content": "Bye", "timestamp": "2026-01-20"},
    ]
    id_ = call("memory_store", label="L", folder="/f", messages=given_)["id"]
    messages = call("memory_get_context", conversation_id=id_)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "user"]
    assert [message["content"] for message in messages] == ["Be brief.", "  Hi there \n", "Hello", "42", "Bye"]
    assert [message["timestamp"] for message in messages] == [
        "2026-01-20T10:00:05Z", "2026-01-20T10:00:00Z", "2026-01-20T10:00:00.250Z", "2026-01-25T16:30:00Z",
        "2026-01-20T00:00:00Z",
    ]  # fmt: skip
    assert [message.get("metadata") for message in messages] == [None, metadata, None, None, None]


@pytest.mark.parametrize(
    ("given_", "score", "status"),
    [
        (None, 5, "active"),
        (0, 0, "active"),
        (0.0, 0, "active"),
        (8, 8, "active"),
        (8.0, 8, "active"),
        (7.25, 7.25, "active"),
        (9.99, 9.99, "active"),
        (10, 10, "pinned"),
        (10.0, 10, "pinned"),
    ],
)
@pytest.mark.promise(
    "sekha:memory_store:importance-optional",
    "sekha:memory_store:importance-range",
    "sekha:decided:importance-default",
    "sekha:decided:importance-numbers",
    "sekha:decided:pinned-agrees",
)
def test_importance_is_a_number_of_either_kind(call: Call, given_: float | None, score: float, status: str) -> None:
    more = {} if given_ is None else {"importance_score": given_}
    data = call("memory_store", label="L", folder="/f", messages=one(), **more)
    assert (data["importance_score"], data["status"]) == (score, status)
    assert isinstance(data["importance_score"], int) == (score == int(score))
    read = call("memory_get_context", conversation_id=data["id"])
    assert (read["importance_score"], read["status"]) == (score, status)


@pytest.mark.promise("sekha:decided:same-again")
def test_the_same_conversation_again_is_found(call: Call, clock: Clock) -> None:
    first = call("memory_store", **EXAMPLE)
    clock.forward(days=1)
    again = call("memory_store", **{**EXAMPLE, "folder": "work/engineering/", "importance_score": 2})
    assert first["duplicate"] is False
    assert again == first | {"duplicate": True}
    assert call("memory_stats")["total_conversations"] == 1


@pytest.mark.promise("sekha:decided:same-words-twice")
def test_the_same_messages_elsewhere_are_another_conversation(call: Call) -> None:
    ids = {
        call("memory_store", label=label, folder=folder, messages=one("zebra"))["id"]
        for label, folder in (("A", "/f"), ("B", "/f"), ("A", "/g"))
    }
    ids.add(call("memory_store", label="A", folder="/f", messages=[*one("zebra"), *one("zebra")])["id"])
    assert len(ids) == 4
    counts = sorted(call("memory_get_context", conversation_id=id_)["message_count"] for id_ in ids)
    assert counts == [1, 1, 1, 2]
    assert call("memory_stats")["total_messages"] == 5


@pytest.mark.promise("sekha:decided:comes-back")
def test_what_was_forgotten_comes_back_when_it_is_stored_again(call: Call, memory: LocalMemory) -> None:
    id_ = call("memory_store", **EXAMPLE)["id"]
    conversations.forget_session(memory, id_)
    assert call("memory_stats")["total_conversations"] == 0
    assert call("memory_search", query="database queries")["results"] == []
    assert call("memory_store", **EXAMPLE)["id"] == id_
    assert call("memory_get_context", conversation_id=id_)["message_count"] == 2
    assert call("memory_search", query="database queries")["total"] == 1


@pytest.mark.promise("sekha:decided:edited-known")
def test_an_edited_message_is_not_stored_a_second_time(call: Call, memory: LocalMemory) -> None:
    id_ = call("memory_store", **EXAMPLE)["id"]
    message = call("memory_get_context", conversation_id=id_)["messages"][0]["id"]
    edit_item(memory, message, Changes(content="How do we speed the database up?"))
    call("memory_update", conversation_id=id_, label="Renamed", folder="/elsewhere")
    again = call("memory_store", **EXAMPLE)
    assert (again["id"], again["duplicate"], again["label"]) == (id_, True, "Renamed")
    data = call("memory_get_context", conversation_id=id_)
    assert [m["content"] for m in data["messages"]] == [
        "How do we speed the database up?", "Here are several strategies...",
    ]  # fmt: skip
    assert (data["message_count"], data["word_count"]) == (2, 11)


@pytest.mark.promise("sekha:decided:secrets-stay")
def test_secrets_are_taken_out_before_anything_is_written(call: Call, memory: LocalMemory) -> None:
    data = call(
        "memory_store", label=f"Key {SECRET}", folder=f"/keys/{SECRET}",
        messages=one(f"use {SECRET} now", metadata={"token": SECRET, SECRET: [SECRET]}),
    )  # fmt: skip
    moved = call("memory_update", conversation_id=data["id"], folder=f"/{SECRET}/x", label=SECRET)
    read = call("memory_get_context", conversation_id=data["id"])
    assert SECRET not in str(data) + str(moved) + str(read)
    assert "[REDACTED:" in read["label"] and "[REDACTED:" in read["messages"][0]["content"]
    files = memory.settings.database.parent.glob("*")
    assert not any(SECRET.encode() in file.read_bytes() for file in files if file.is_file())


@pytest.mark.parametrize("tool", ["memory_search", "memory_get_context", "memory_export", "memory_stats"])
@pytest.mark.promise("sekha:decided:secrets-stay")
def test_a_secret_that_got_in_does_not_get_out(
    call: Call, memory: LocalMemory, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    with monkeypatch.context() as patched:
        # As if it had been written before its shape was known.
        patched.setattr("commonplace.memory.draft.redact", lambda text: text)
        id_ = call(
            "memory_store", label=f"Key {SECRET}", folder="/f", messages=one(f"zebra {SECRET}", metadata={"k": SECRET})
        )["id"]
    question = {"memory_search": {"query": "zebra"}, "memory_stats": {}}.get(tool, {"conversation_id": id_})
    reply = TOOLS[tool].run(memory, question)
    assert SECRET not in reply.text and SECRET not in str(reply.data)
    assert "[REDACTED:" in reply.text


def as_stored(text: str) -> str:
    return redact(UNSTORABLE.sub("\ufffd", text))


@given(text=st.text(min_size=1).filter(lambda text: bool(text.strip())))
@hypothesis_settings(max_examples=150)
@pytest.mark.promise("sekha:decided:text-equal")
def test_any_text_comes_back_equal(call: Call, text: str) -> None:
    id_ = call("memory_store", label="Any", folder="/any", messages=one(text, metadata={text: [text]}))["id"]
    (message,) = call("memory_get_context", conversation_id=id_)["messages"]
    assert message["content"] == as_stored(text)
    assert message["metadata"] == {as_stored(text): [as_stored(text)]}
    assert message["content"] in call("memory_export", conversation_id=id_, format="markdown")["content"]


@pytest.mark.parametrize("letter", ["🦓", "👨‍👩‍👧‍👦", "é", "שלום ", "ابجد ", "字", "\u202eabc", "𝕫"])
@pytest.mark.parametrize("times", [1, 25, 33, 99, 100, 101, 1000, 5000])
@pytest.mark.promise("sekha:decided:text-equal")
def test_wide_and_right_to_left_letters_of_every_length(call: Call, letter: str, times: int) -> None:
    text = letter * times
    label = " ".join(text[:500].split())
    data = call("memory_store", label=label, folder=f"/{letter}", messages=one(text))
    read = call("memory_get_context", conversation_id=data["id"])
    assert (read["label"], read["messages"][0]["content"]) == (label, text)
    assert call("memory_stats", folder=f"/{letter}")["total_messages"] == 1
