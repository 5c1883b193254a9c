"""Bad input and failures, as ECM's reference shows them: a code, a message, a suggestion."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.conftest import TOOLS
from tests.memory.past_work import work

from commonplace.dialects.tool import error_body
from commonplace.errors import CommonplaceError, NoResults, StoreBusy, StoreCorrupt, StoreError, TimedOut
from commonplace.memory.local_memory import LocalMemory

TEXT = {"recall": "query", "explain": "topic", "predict": "context"}


def refused(memory: LocalMemory, name: str, arguments: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(CommonplaceError) as raised:
        TOOLS[name].run(memory, arguments)
    error: dict[str, str] = error_body(TOOLS[name].dialect, raised.value)["error"]
    assert error.keys() == {"code", "message", "suggestion"}
    assert all(error.values()) and len(str(error)) < 2000
    return error


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("recall", {}, "needs the argument 'query'"),
        ("recall", {"query": ""}, "query is empty"),
        ("recall", {"query": " \n\t"}, "query is empty"),
        ("recall", {"query": 5}, "query must be of type string"),
        ("recall", {"query": None}, "needs the argument 'query'"),
        ("recall", {"query": ["x"]}, "query must be of type string"),
        ("recall", {"query": "x", "limit": 0}, "Invalid limit"),
        ("recall", {"query": "x", "limit": 101}, "Invalid limit"),
        ("recall", {"query": "x", "limit": -1}, "Invalid limit"),
        ("recall", {"query": "x", "limit": "10"}, "limit must be a whole number"),
        ("recall", {"query": "x", "limit": 2.5}, "limit must be a whole number"),
        ("recall", {"query": "x", "limit": True}, "limit must be a whole number"),
        ("recall", {"query": "x", "minScore": -0.1}, "Invalid minScore"),
        ("recall", {"query": "x", "minScore": 1.5}, "Invalid minScore"),
        ("recall", {"query": "x", "minScore": "0.5"}, "minScore must be of type number"),
        ("recall", {"query": "x", "minScore": float("nan")}, "minScore"),
        ("recall", {"query": "x", "range": "long"}, "recall has no argument 'range'"),
        ("recall", {"query": "x" * 10_001}, "10001 characters"),
        ("explain", {}, "needs the argument 'topic'"),
        ("explain", {"topic": "  "}, "topic is empty"),
        ("explain", {"topic": "x", "depth": 0}, "Invalid depth"),
        ("explain", {"topic": "x", "depth": 51}, "Invalid depth"),
        ("explain", {"topic": "x", "depth": "deep"}, "depth must be a whole number"),
        ("explain", {"topic": "x", "includeTimeline": "yes"}, "includeTimeline must be of type boolean"),
        ("explain", {"topic": "x", "includeTimeline": 1}, "includeTimeline must be of type boolean"),
        ("explain", {"topic": "x", "include_timeline": False}, "no argument 'include_timeline'"),
        ("predict", {}, "needs the argument 'context'"),
        ("predict", {"context": ""}, "context is empty"),
        ("predict", {"context": "x", "limit": 0}, "Invalid limit"),
        ("predict", {"context": {"a": 1}}, "context must be of type string"),
    ],
)
@pytest.mark.promise(
    "ecm:errors:invalid-params",
    "ecm:bad-input:missing",
    "ecm:bad-input:blank",
    "ecm:bad-input:wrong-type",
    "ecm:bad-input:null",
    "ecm:bad-input:range",
    "ecm:bad-input:unknown-argument",
    "ecm:bad-input:huge",
)
def test_bad_arguments_are_invalid_params(
    memory: LocalMemory, name: str, arguments: dict[str, Any], expected: str
) -> None:
    error = refused(memory, name, arguments)
    assert error["code"] == "INVALID_PARAMS" and expected in error["message"]


def test_an_unknown_argument_is_told_the_known_ones(memory: LocalMemory) -> None:
    error = refused(memory, "explain", {"topic": "x", "includetimeline": True})
    assert error["suggestion"] == "Its arguments are topic, depth, includeTimeline."


@pytest.mark.parametrize("limit", [1, 100, 10.0])
def test_the_borders_are_allowed(memory: LocalMemory, limit: float) -> None:
    work(memory)
    for score in (0, 0.5, 0.9):
        assert TOOLS["recall"].run(memory, {"query": "token bucket", "limit": limit, "minScore": score}).data["results"]
    for depth in (1, 50):
        assert TOOLS["explain"].run(memory, {"topic": "login", "depth": depth}).data["timeline"]


@pytest.mark.promise("ecm:errors:shape", "ecm:errors:no-results")
def test_the_example_of_an_error() -> None:
    assert error_body("ecm", NoResults("No matching chunks found")) == {
        "error": {
            "code": "NO_RESULTS",
            "message": "No matching chunks found",
            "suggestion": "Try a broader query or check if sessions were ingested",
        }
    }


@pytest.mark.parametrize("error", [StoreError("a"), StoreBusy("b"), StoreCorrupt("c")])
def test_whatever_the_store_says_is_one_code(error: CommonplaceError) -> None:
    assert error_body("ecm", error)["error"]["code"] == "DB_ERROR"
    assert error_body("ecm", TimedOut("d"))["error"]["code"] == "TIMEOUT"


@given(st.text(max_size=200).filter(str.strip))
def test_any_text_is_answered_or_has_no_results(memory: LocalMemory, text: str) -> None:
    if not memory.store.counts().items:
        work(memory)
    for name, argument in TEXT.items():
        with contextlib.suppress(NoResults):
            assert TOOLS[name].run(memory, {argument: text}).data["returnedCount"] >= 1
