"""Whatever is wrong with a call: one clear error with a code, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.conftest import TOOLS, Call

from commonplace.dialects.tool import compact_json, error_body
from commonplace.errors import CommonplaceError, InvalidInput, NotFound, TooLarge, UnknownArgument
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

NUMBERS = [
    ("search", {"query": "x"}, "limit"),
    ("timeline", {"anchor_id": 1}, "depth_before"),
    ("timeline", {"anchor_id": 1}, "depth_after"),
    ("timeline", {}, "anchor_id"),
    ("get_context", {"project": "p"}, "token_budget"),
]
TEXTS = [
    ("search", {}, "query"),
    ("search", {"query": "x"}, "project"),
    ("get_context", {}, "project"),
    ("get_context", {"project": "p"}, "query"),
]


def refused(tool: str, arguments: dict[str, Any], memory: LocalMemory) -> dict[str, str]:
    """The error that a front door would show."""
    with pytest.raises(CommonplaceError) as raised:
        TOOLS[tool].run(memory, arguments)
    error: dict[str, str] = error_body(TOOLS[tool].dialect, raised.value)["error"]
    assert error.keys() == {"code", "message", "details"}
    assert all(error.values())
    assert len(compact_json(error)) < 2000
    return error


@pytest.mark.parametrize(("tool", "others", "name"), NUMBERS)
@pytest.mark.parametrize("value", [5.5, "5", "", True, False, [], [5], {}, float("inf"), float("nan")], ids=repr)
@pytest.mark.promise("kiro:decided:wrong-types")
def test_only_whole_numbers_are_whole_numbers(
    memory: LocalMemory, tool: str, others: dict[str, Any], name: str, value: object
) -> None:
    error = refused(tool, {**others, name: value}, memory)
    assert error["code"] == "VALIDATION_ERROR"
    assert error["message"].startswith(f"{name} must be a whole number, not ")


@pytest.mark.parametrize(("tool", "others", "name"), TEXTS)
@pytest.mark.parametrize("value", [5, 5.5, True, [], ["x"], {"x": 1}], ids=repr)
def test_only_strings_are_strings(
    memory: LocalMemory, tool: str, others: dict[str, Any], name: str, value: object
) -> None:
    error = refused(tool, {**others, name: value}, memory)
    assert error["code"] == "VALIDATION_ERROR"
    assert error["message"].startswith(f"{name} must be of type string, not ")


@pytest.mark.parametrize(
    ("tool", "needed"),
    [("search", "query"), ("timeline", "anchor_id"), ("get_observations", "ids"), ("get_context", "project")],
)
@pytest.mark.promise("kiro:search:query-required")
def test_what_is_required_is_named_when_it_is_missing(memory: LocalMemory, tool: str, needed: str) -> None:
    error = refused(tool, {}, memory)
    assert error["code"] == "VALIDATION_ERROR"
    assert f"'{needed}'" in error["message"]


@pytest.mark.parametrize("tool", ["search", "timeline", "get_observations", "get_context"])
@pytest.mark.promise("kiro:bad-input:unknown-argument")
def test_an_unknown_argument_is_named_with_the_known_ones(memory: LocalMemory, tool: str) -> None:
    error = refused(tool, {"maxResults": 5, "query": "x"}, memory)
    assert "'maxResults'" in error["message"]
    # Those of the schema, as the reference has them.
    listed = [param.name for param in TOOLS[tool].params if param.listed]
    assert error["details"] == f"Its arguments are {', '.join(listed)}."
    with pytest.raises(UnknownArgument):
        TOOLS[tool].run(memory, {"": 1, "x" * 100_000: 1, **{f"a{n}": 1 for n in range(1000)}})


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\u00a0"])
@pytest.mark.promise("kiro:bad-input:empty-query")
def test_an_empty_query_is_an_error(memory: LocalMemory, query: str) -> None:
    assert "query is empty" in refused("search", {"query": query}, memory)["message"]


@pytest.mark.parametrize("project", ["", "  ", "\0", "\ud800", "a\nb", "..", "x" * 5000])
def test_a_project_that_cannot_be_one_is_an_error(memory: LocalMemory, project: str) -> None:
    assert refused("get_context", {"project": project}, memory)["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("search", {}), ("get_context", {"project": "p"})],
)
@pytest.mark.promise("kiro:bad-input:long-query")
def test_a_query_has_ten_thousand_characters_at_most(memory: LocalMemory, tool: str, arguments: dict[str, str]) -> None:
    TOOLS[tool].run(memory, {**arguments, "query": "x" * 10_000})
    TOOLS[tool].run(memory, {**arguments, "query": "zebra grass " * 800})
    assert refused(tool, {**arguments, "query": "x" * 10_001}, memory)["code"] == "TOO_LARGE"
    with pytest.raises(TooLarge, match="100000 characters"):
        TOOLS[tool].run(memory, {**arguments, "query": "x" * 100_000})


@pytest.mark.parametrize("id_", [10**16, -(10**16), 10**400, 1e300])
def test_a_number_that_cannot_be_an_id_is_an_error(memory: LocalMemory, id_: float) -> None:
    assert refused("timeline", {"anchor_id": id_}, memory)["code"] == "VALIDATION_ERROR"
    assert refused("get_observations", {"ids": [id_]}, memory)["code"] == "VALIDATION_ERROR"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = ("query", "project", "limit", "anchor_id", "depth_before", "depth_after", "ids", "token_budget", "nonsense")


@pytest.mark.parametrize("tool", ["search", "timeline", "get_observations", "get_context"])
@given(arguments=st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), VALUES, max_size=4))
def test_any_arguments_get_an_answer_or_an_error_of_ours(
    memory: LocalMemory, tool: str, arguments: dict[str, Any]
) -> None:
    try:
        output = TOOLS[tool].run(memory, arguments).text
    except (InvalidInput, NotFound) as error:
        output = compact_json(error_body("kiro", error))
    assert output.encode()


@given(query=st.text(max_size=80) | st.text('"()*:^-+ANDORT \0\ud800', max_size=40))
def test_any_query_gets_an_answer(memory: LocalMemory, call: Call, query: str) -> None:
    remember(memory, NewItem(content="The zebra AND the lion"))
    if query.strip():
        call("search", query=query)
        call("get_context", project="p", query=query)
