"""Bad input to Sekha's tools: a clear error, and nothing stored."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.dialects.conftest import TOOLS, Call

from commonplace.dialects.tool import error_body
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, TooLarge
from commonplace.memory.conversations import MAX_MESSAGES
from commonplace.memory.draft import MAX_TEXT
from commonplace.memory.local_memory import LocalMemory

GOOD: dict[str, Any] = {"label": "L", "folder": "/f", "messages": [{"role": "user", "content": "Hello"}]}
VALID: dict[str, dict[str, Any]] = {
    "memory_store": GOOD | {"importance_score": 5},
    "memory_search": {"query": "x", "limit": 10, "filter_labels": ["a"]},
    "memory_update": {"conversation_id": "x", "label": "l", "folder": "/f", "importance_score": 1, "status": "active"},
    "memory_get_context": {"conversation_id": "x"},
    "memory_prune": {"threshold_days": 30, "importance_threshold": 5.0},
    "memory_export": {"conversation_id": "x", "format": "json", "include_metadata": True},
    "memory_stats": {"folder": "/f"},
}
EVERY = [(tool, name) for tool, arguments in VALID.items() for name in arguments]
WRONG: list[Any] = [True, 5, 5.5, "text", [], {}, [1], {"a": 1}]


def refused(
    memory: LocalMemory, tool: str, arguments: dict[str, Any], code: str = "VALIDATION_ERROR"
) -> dict[str, str]:
    """The error of a call, as the reference shows one, after checking that nothing was stored."""
    with pytest.raises(CommonplaceError) as caught:
        TOOLS[tool].run(memory, arguments)
    error: dict[str, str] = error_body("sekha", caught.value)["error"]
    assert error.keys() == {"code", "message", "details"}
    assert error["code"] == code, error
    assert error["message"] and error["details"]
    assert memory.store.counts().items.get("message", 0) == 0
    return error


@pytest.mark.parametrize("bad", [-0.1, 10.1, -1, 11, 1e200])
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("memory_store", "importance_score"),
        ("memory_update", "importance_score"),
        ("memory_prune", "importance_threshold"),
    ],
)
@pytest.mark.promise("sekha:errors:shape", "sekha:errors:validation")
def test_scores_out_of_range_are_refused_in_the_words_of_the_reference(
    memory: LocalMemory, tool: str, name: str, bad: float
) -> None:
    assert refused(memory, tool, VALID[tool] | {name: bad}) == {
        "code": "VALIDATION_ERROR",
        "message": f"Invalid {name}",
        "details": "Must be between 0.0 and 10.0",
    }


@pytest.mark.parametrize(
    ("tool", "name", "bad", "borders"),
    [
        ("memory_search", "limit", 0, "1 and 50"),
        ("memory_search", "limit", 51, "1 and 50"),
        ("memory_search", "limit", -5, "1 and 50"),
        ("memory_prune", "threshold_days", -1, "0 and 36500"),
        ("memory_prune", "threshold_days", 40_000, "0 and 36500"),
    ],
)
@pytest.mark.promise("sekha:memory_search:limit-range", "sekha:errors:validation")
def test_numbers_out_of_range_are_refused(memory: LocalMemory, tool: str, name: str, bad: int, borders: str) -> None:
    error = refused(memory, tool, VALID[tool] | {name: bad})
    assert (error["message"], error["details"]) == (f"Invalid {name}", f"Must be between {borders}")


@pytest.mark.parametrize(("tool", "name"), EVERY)
@pytest.mark.promise("sekha:bad-input:wrong-type")
def test_wrong_types_are_refused_everywhere(memory: LocalMemory, tool: str, name: str) -> None:
    good = VALID[tool][name]
    numbers = isinstance(good, (int, float)) and not isinstance(good, bool)
    for bad in WRONG:
        if type(bad) is type(good) or (numbers and isinstance(bad, (int, float)) and not isinstance(bad, bool)):
            continue
        error = refused(memory, tool, VALID[tool] | {name: bad})
        assert error["message"].startswith(f"{name} must be "), error


@pytest.mark.parametrize("tool", VALID)
@pytest.mark.promise("sekha:bad-input:unknown-argument")
def test_unknown_arguments_are_refused_and_the_known_ones_named(memory: LocalMemory, tool: str) -> None:
    error = refused(memory, tool, VALID[tool] | {"nonsense": 1})
    assert "'nonsense'" in error["message"]
    assert all(name in error["details"] for name in VALID[tool])


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("memory_store", "label"),
        ("memory_store", "folder"),
        ("memory_store", "messages"),
        ("memory_search", "query"),
        ("memory_update", "conversation_id"),
        ("memory_get_context", "conversation_id"),
        ("memory_export", "conversation_id"),
    ],
)
@pytest.mark.promise(
    "sekha:memory_store:label-required",
    "sekha:memory_store:folder-required",
    "sekha:memory_store:messages-required",
    "sekha:memory_search:query-required",
    "sekha:memory_update:id-required",
    "sekha:memory_get_context:id-required",
    "sekha:memory_export:id-required",
)
def test_what_is_required_is_asked_for_by_name(memory: LocalMemory, tool: str, name: str) -> None:
    missing = {key: value for key, value in VALID[tool].items() if key != name}
    assert repr(name) in refused(memory, tool, missing)["message"]


@pytest.mark.promise("sekha:bad-input:no-messages")
def test_a_conversation_without_messages_is_refused(memory: LocalMemory) -> None:
    assert "no messages" in refused(memory, "memory_store", GOOD | {"messages": []})["message"]


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"content": "x"}, "messages[1] needs a role and content"),
        ({"role": "user"}, "messages[1] needs a role and content"),
        ({"role": None, "content": "x"}, "messages[1] needs a role and content"),
        ({"role": "user", "content": 5}, "messages[1] needs a role and content"),
        ({"role": "user", "content": ["x"]}, "messages[1] needs a role and content"),
        ({"role": "user", "content": ""}, "messages[1].content is empty"),
        ({"role": "user", "content": " \n"}, "messages[1].content is empty"),
        ({"role": "robot", "content": "x"}, "messages[1].role is 'robot'"),
        ({"role": "USER", "content": "x"}, "messages[1].role is 'USER'"),
        ({"role": "user", "content": "x", "name": "y"}, "messages[1] has no field 'name'"),
        ({"role": "user", "content": "x", "metadata": "y"}, "messages[1].metadata must be an object"),
        ({"role": "user", "content": "x", "metadata": []}, "messages[1].metadata must be an object"),
        ({}, "messages[1] needs a role and content"),
        ("hello", "messages[1] must be of type object"),
        (None, "messages[1] must be of type object"),
    ],
)
@pytest.mark.promise("sekha:bad-input:message-fields")
def test_a_bad_message_is_named(memory: LocalMemory, message: Any, says: str) -> None:
    error = refused(memory, "memory_store", GOOD | {"messages": [{"role": "user", "content": "fine"}, message]})
    assert error["message"].startswith(says)


@pytest.mark.parametrize(
    "stamp",
    [
        "yesterday", "", " ", "2026-13-01", "2026-02-30T00:00:00Z", "2026-01-20T25:00:00Z", "10:00:00", "1769358600",
        "2026-01-20T10:00:00+99:00", 1769358600, 1.5, True, {}, "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z",
        "-999999999999999", "0001-01-01T00:00:00+05:00",
    ],
)  # fmt: skip
@pytest.mark.promise("sekha:bad-input:timestamps")
def test_malformed_timestamps_are_refused_and_their_message_named(memory: LocalMemory, stamp: Any) -> None:
    messages = [{"role": "user", "content": "fine"}, {"role": "user", "content": "x", "timestamp": stamp}]
    error = refused(memory, "memory_store", GOOD | {"messages": messages})
    assert error["message"].startswith("messages[1].timestamp")
    assert "2026-01-25T16:30:00Z" in error["details"]


@pytest.mark.promise("sekha:bad-input:timestamps")
def test_a_timestamp_in_the_future_is_kept(call: Call) -> None:
    messages = [{"role": "user", "content": "x", "timestamp": "9999-12-31T23:59:59Z"}]
    id_ = call("memory_store", **GOOD | {"messages": messages})["id"]
    (message,) = call("memory_get_context", conversation_id=id_)["messages"]
    assert message["timestamp"] == "9999-12-31T23:59:59Z"


@pytest.mark.promise("sekha:bad-input:huge")
def test_too_many_messages_are_refused_and_as_many_as_may_be_are_kept(memory: LocalMemory, call: Call) -> None:
    messages = [{"role": "user", "content": f"line {n}"} for n in range(MAX_MESSAGES + 1)]
    assert f"{MAX_MESSAGES}" in refused(memory, "memory_store", GOOD | {"messages": messages})["message"]
    assert call("memory_store", **GOOD | {"messages": messages[:-1]})["message_count"] == MAX_MESSAGES == 20_000


@pytest.mark.parametrize(
    "huge",
    [
        {"messages": [{"role": "user", "content": "x" * (MAX_TEXT + 1)}]},
        {"messages": [{"role": "user", "content": "x", "metadata": {"a": "x" * (MAX_TEXT + 1)}}]},
        {"label": "x" * 501},
        {"folder": "/" + "x" * 500},
    ],
    ids=["message", "metadata", "label", "folder"],
)
@pytest.mark.promise("sekha:bad-input:huge")
def test_texts_that_are_too_long_are_refused(memory: LocalMemory, huge: dict[str, Any]) -> None:
    assert len(refused(memory, "memory_store", GOOD | huge)["message"]) < 200


def test_a_message_of_the_greatest_length_is_kept(call: Call) -> None:
    text = "🦓 " * (MAX_TEXT // 2)
    id_ = call("memory_store", **GOOD | {"messages": [{"role": "user", "content": text}]})["id"]
    data = call("memory_get_context", conversation_id=id_)
    assert (data["messages"][0]["content"], data["word_count"]) == (text, MAX_TEXT // 2)


@pytest.mark.parametrize("depth", [60, 900])
def test_metadata_that_is_too_deep_is_refused(memory: LocalMemory, depth: int) -> None:
    deep: dict[str, Any] = {}
    for _ in range(depth):
        deep = {"a": deep}
    refused(memory, "memory_store", GOOD | {"messages": [{"role": "user", "content": "x", "metadata": deep}]})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_search", {"query": ""}),
        ("memory_search", {"query": " \n"}),
        ("memory_search", {"query": "x" * 10_001}),
        ("memory_search", {"query": "x", "filter_labels": ["a", 5]}),
        ("memory_search", {"query": "x", "filter_labels": ["a"] * 101}),
        ("memory_search", {"query": "x", "limit": 2.5}),
        ("memory_export", {"conversation_id": "x", "format": "xml"}),
        ("memory_update", {"conversation_id": "x", "status": "deleted"}),
        ("memory_store", GOOD | {"label": " \t"}),
        ("memory_get_context", {"conversation_id": ""}),
        ("memory_stats", {"folder": ""}),
        ("memory_stats", {"folder": "/a/../b"}),
    ],
)
@pytest.mark.promise("sekha:errors:validation")
def test_other_values_that_cannot_be_are_refused(memory: LocalMemory, tool: str, arguments: dict[str, Any]) -> None:
    refused(memory, tool, arguments)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data(), tool=st.sampled_from(sorted(VALID)))
@hypothesis_settings(max_examples=300)
def test_whatever_is_sent_is_answered_or_refused(memory: LocalMemory, data: st.DataObject, tool: str) -> None:
    arguments = {
        name: data.draw(st.just(good) | anything) for name, good in VALID[tool].items() if data.draw(st.booleans())
    }
    if tool == "memory_store" and data.draw(st.booleans()):
        entry = {name: data.draw(anything) for name in ("role", "content", "timestamp", "metadata")}
        arguments["messages"] = [{**entry, "role": "user", "content": "x"}]
    with contextlib.suppress(InvalidInput, TooLarge, NotFound):
        TOOLS[tool].run(memory, arguments)
