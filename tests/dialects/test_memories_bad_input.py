"""Whatever is wrong with a call: one error with a code and a next step, and nothing half-written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dialects.conftest import Memories

from commonplace.dialects import memories as dialect
from commonplace.dialects.tool import Tool, compact_json, error_body
from commonplace.errors import CommonplaceError, Conflict, InvalidInput, NotFound, TooLarge, UnknownArgument
from commonplace.memory.local_memory import LocalMemory

TOOLS = {tool.name: tool for tool in dialect.TOOLS}


def refused(memory: LocalMemory, name: str, arguments: dict[str, Any]) -> dict[str, str]:
    """The error that a front door would show, after checking that nothing was written."""
    before = memory.store.counts()
    with pytest.raises(CommonplaceError) as raised:
        TOOLS[name].run(memory, arguments)
    assert memory.store.counts() == before
    error: dict[str, str] = error_body("memories", raised.value)["error"]
    assert error.keys() == {"code", "message", "details"}
    assert all(error.values())
    assert len(compact_json(error)) < 2000
    return error


@pytest.mark.parametrize("content", ["", " ", "\n\t", "\u00a0\u2003", "\u2028"], ids=ascii)
@pytest.mark.promise("memories:bad-input:blank-content", "memories:add_memory:content-required")
def test_blank_content_is_refused(memories: Memories, content: str) -> None:
    id_ = memories.add("Use tabs")
    for name, more in (("add_memory", {}), ("edit_memory", {"id": id_})):
        error = refused(memories.memory, name, {"content": content, **more})
        assert (error["code"], error["message"]) == ("VALIDATION_ERROR", "content is empty.")
    assert "'content'" in refused(memories.memory, "add_memory", {})["message"]
    assert memories.contents("list_memories") == ["Use tabs"]


@pytest.mark.parametrize("type_", ["poem", "", "Rule", "rules", " rule", "constraint"])
@pytest.mark.promise("memories:bad-input:unknown-type")
def test_an_unknown_type_is_refused_with_the_known_ones(memories: Memories, type_: str) -> None:
    id_ = memories.add("Use tabs")
    for name, more in (
        ("add_memory", {"content": "x"}),
        ("edit_memory", {"id": id_}),
        ("search_memories", {"query": "x"}),
        ("list_memories", {}),
        ("start_memory_stream", {}),
    ):
        error = refused(memories.memory, name, {"type": type_, **more})
        assert error["code"] == "VALIDATION_ERROR"
        assert repr(type_) in error["message"]
        assert error["details"] == "Choose one of rule, decision, fact, note, skill."


@pytest.mark.parametrize(
    "glob", ["", " ", "/etc/**", "../x", "a/../../b", "~/x", "C:\\x", "a[", "{a", "a\nb", "a\0", "x" * 301, "{1..9999}"]
)
@pytest.mark.promise("memories:bad-input:bad-glob")
def test_a_bad_glob_is_refused(memories: Memories, glob: str) -> None:
    id_ = memories.add("Use tabs", "rule", paths=["src/**"])
    for name, more in (("add_memory", {"content": "x"}), ("edit_memory", {"id": id_})):
        error = refused(memories.memory, name, {"paths": ["src/**", glob], **more})
        assert error["code"] == "VALIDATION_ERROR"
        assert error["message"].startswith("The path ")
    assert memories("get_rules").data["global_rules"][0]["paths"] == ["src/**"]


@pytest.mark.parametrize(
    "category",
    ["..", ".", "../x", "a/b", "/etc", "a\\b", "C:", "a\0b", "a\nb", "x" * 101, ".hidden", "a.", "nul", "COM1.md"],
)
@pytest.mark.promise("memories:bad-input:bad-category")
def test_a_category_that_cannot_be_a_file_is_refused(memories: Memories, category: str) -> None:
    id_ = memories.add("Use tabs", category="style")
    for name, more in (("add_memory", {"content": "x"}), ("edit_memory", {"id": id_})):
        error = refused(memories.memory, name, {"category": category, **more})
        assert error["code"] == "VALIDATION_ERROR"
        assert "cannot be a category" in error["message"]
    assert memories("list_memories").data["memories"][0]["category"] == "style"


@pytest.mark.parametrize("category", ["api", "api-rules", "API v2", "a.b", "x" * 100, "правила", "a_b", "nullable"])
def test_a_category_that_can_be_a_file_is_kept(memories: Memories, category: str) -> None:
    assert memories("add_memory", content="x", category=category).data["category"] == category


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"content": "x" * 1_000_001}, "content has 1000001 characters"),
        ({"content": "x", "tags": ["t"] * 51}, "51 tags"),
        ({"content": "x", "tags": ["t" * 101]}, "A tag has 1 to 100"),
        ({"content": "x", "tags": [" "]}, "A tag has 1 to 100"),
        ({"content": "x", "paths": [f"a{n}" for n in range(51)]}, "51 paths"),
        ({"content": "x", "metadata": {"k": "v" * 1_000_001}}, "metadata has"),
        ({"content": "x", "metadata": {str(n): "v" * 1000 for n in range(1100)}}, "metadata has"),
        ({"content": "x", "metadata": {"n": float("nan")}}, "metadata cannot be written as JSON"),
        ({"content": "x", "project_id": "p" * 5000}, "project name is longer"),
        ({"content": "x", "project_id": ".."}, "project name"),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.promise("memories:bad-input:huge")
def test_what_is_too_much_is_refused(memory: LocalMemory, arguments: dict[str, Any], message: str) -> None:
    assert message in refused(memory, "add_memory", arguments)["message"]


def test_files_are_a_thousand_at_most(memory: LocalMemory) -> None:
    for name in ("get_rules", "get_context"):
        TOOLS[name].run(memory, {"files": ["a"] * 1000})
        assert "1001 entries" in refused(memory, name, {"files": ["a"] * 1001})["message"]


def test_a_query_has_ten_thousand_characters_at_most(memory: LocalMemory) -> None:
    for name in ("search_memories", "get_context"):
        TOOLS[name].run(memory, {"query": "zebra grass " * 800})
        assert refused(memory, name, {"query": "x" * 10_001})["code"] == "TOO_LARGE"


@pytest.mark.parametrize("query", ["", "  ", "\n"])
@pytest.mark.promise("memories:search_memories:query-required")
def test_a_search_needs_a_query(memory: LocalMemory, query: str) -> None:
    assert refused(memory, "search_memories", {"query": query})["message"] == "query is empty."
    assert "'query'" in refused(memory, "search_memories", {})["message"]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
@pytest.mark.promise("memories:bad-input:unknown-argument")
def test_an_unknown_argument_is_named_with_the_known_ones(memory: LocalMemory, tool: Tool) -> None:
    error = refused(memory, tool.name, {"user_id": "x"})
    assert "'user_id'" in error["message"]
    assert all(param.name in error["details"] for param in tool.params if param.listed)
    with pytest.raises(UnknownArgument):
        tool.run(memory, {"x" * 100_000: 1})


WRONG: dict[type, list[object]] = {
    str: [5, True, ["x"], {}],
    int: ["5", 5.5, True, [5]],
    bool: ["true", 1, 0],
    list: ["x", 5, {}, [5], [None], [["x"]]],
    dict: ["{}", [], 5],
}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
@pytest.mark.promise("memories:bad-input:wrong-type")
def test_a_wrong_type_is_refused_by_name(memory: LocalMemory, tool: Tool) -> None:
    needed = {param.name: "x" for param in tool.params if param.required}
    for param in tool.params:
        for value in WRONG[param.type]:
            error = refused(memory, tool.name, {**needed, param.name: value})
            assert error["code"] == "VALIDATION_ERROR"
            assert error["message"].startswith(param.name)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["rule", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = sorted({param.name for tool in TOOLS.values() for param in tool.params})


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
@given(arguments=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5))
def test_any_arguments_get_an_answer_or_an_error_of_ours(
    memory: LocalMemory, tool: Tool, arguments: dict[str, Any]
) -> None:
    known = {param.name for param in tool.params}
    try:
        output = tool.run(memory, {name: value for name, value in arguments.items() if name in known}).text
    except (InvalidInput, NotFound, Conflict, TooLarge) as error:
        output = compact_json(error_body("memories", error))
    assert output.encode()


@given(content=st.text(min_size=1, max_size=60), tag=st.text(max_size=10))
def test_any_content_can_be_told_again(memory: LocalMemory, content: str, tag: str) -> None:
    memories = Memories(memory)
    if not content.strip():
        return
    added = memories("add_memory", content=content, type="rule", tags=[tag] if tag.strip() else [])
    assert added.text.encode()
    assert added.data["id"] in memories("get_rules").text
    assert len(added.text.split("\n\n")[0].splitlines()) == 2
