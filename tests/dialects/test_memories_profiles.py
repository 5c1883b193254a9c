"""Which tools there are, with which parameters, and who answers get_context where two dialects could."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from commonplace.dialects.profiles import tools_of
from commonplace.dialects.tool import Reply, Tool
from commonplace.errors import InvalidInput, UnknownArgument
from commonplace.memory.book import Book
from commonplace.memory.remember import Note, remember

TYPES = ["rule", "decision", "fact", "note", "skill"]
STRINGS = {"type": "array", "items": {"type": "string"}}
STRING, OBJECT = {"type": "string"}, {"type": "object"}
ONE_TYPE = {"type": "string", "enum": TYPES}

# The tables of the reference: parameter, JSON schema but for descriptions; `!` marks what is required.
REFERENCE: dict[str, dict[str, dict[str, Any]]] = {
    "get_context": {"query": STRING, "project_id": STRING, "limit": {"type": "number", "default": 5}},
    "add_memory": {
        "content!": STRING,
        "type": {**ONE_TYPE, "default": "note"},
        "project_id": STRING,
        "tags": STRINGS,
        "paths": STRINGS,
        "category": STRING,
        "metadata": OBJECT,
    },
    "search_memories": {
        "query!": STRING,
        "project_id": STRING,
        "type": ONE_TYPE,
        "limit": {"type": "number", "default": 10},
    },
    "get_rules": {"project_id": STRING},
    "list_memories": {
        "type": ONE_TYPE,
        "tags": STRING,
        "project_id": STRING,
        "limit": {"type": "number", "default": 20},
    },
    "edit_memory": {
        "id!": STRING,
        "content": STRING,
        "type": ONE_TYPE,
        "tags": STRINGS,
        "paths": STRINGS,
        "category": STRING,
        "metadata": OBJECT,
    },
    "forget_memory": {"id!": STRING},
    "start_memory_stream": {
        "type": {**ONE_TYPE, "default": "note"},
        "tags": STRINGS,
        "global": {"type": "boolean", "default": False},
    },
    "append_memory_chunk": {"stream_id!": STRING, "chunk!": STRING},
    "finalize_memory_stream": {"stream_id!": STRING},
    "cancel_memory_stream": {"stream_id!": STRING},
}
OURS = {"get_context": {"files"}, "get_rules": {"files"}, "edit_memory": {"supersedes"}}
CORE = {"get_context", "add_memory", "edit_memory", "forget_memory"}


def tools(profile: str) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools_of(profile)}


@pytest.mark.promise("memories:tools:eleven", "memories:decided:profiles")
def test_the_eleven_tools_are_in_the_profiles_memories_and_all() -> None:
    assert list(tools("memories")) == list(REFERENCE)
    assert set(REFERENCE) <= set(tools("all"))
    assert set(REFERENCE) & set(tools("core")) == CORE
    assert set(REFERENCE) & set(tools("kiro")) == {"get_context"}


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.promise("memories:tools:parameters")
def test_a_tool_has_the_parameters_of_the_reference(name: str) -> None:
    schema: dict[str, Any] = tools("memories")[name].input_schema()
    properties = {key: {**value} for key, value in schema["properties"].items()}
    for value in properties.values():
        assert value.pop("description")
    wanted = {key.rstrip("!"): value for key, value in REFERENCE[name].items()}
    extra = OURS.get(name, set())
    assert set(properties) == {*wanted, *extra}
    assert {key: properties[key] for key in wanted} == wanted
    assert schema.get("required", []) == [key.rstrip("!") for key in REFERENCE[name] if key.endswith("!")]


@pytest.mark.parametrize("name", REFERENCE)
def test_a_tool_says_whether_it_writes(name: str) -> None:
    tool = tools("memories")[name]
    assert tool.read_only is (name.startswith(("get_", "search_", "list_")))
    assert tool.destructive is (name in ("edit_memory", "forget_memory", "cancel_memory_stream"))


@pytest.fixture
def told(book: Book) -> Book:
    remember(book, Note("Use tabs", type="rule", project="my-app"))
    remember(book, Note("Be kind", type="rule"))
    remember(book, Note("The zebra sleeps", type="fact", project="my-app"))
    return book


def asked(book: Book, profile: str, **arguments: Any) -> Reply:
    tool = tools(profile)["get_context"]
    reply = tool.run(book, arguments)
    Draft202012Validator(tool.output).validate(reply.data)
    return reply


@pytest.mark.parametrize("profile", ["all", "core"])
@pytest.mark.parametrize(
    "arguments",
    [{"project": "my-app"}, {"project": "my-app", "query": "zebra"}, {"project": "my-app", "token_budget": 500}],
    ids=str,
)
@pytest.mark.promise("memories:decided:either-context")
def test_with_a_project_the_context_is_kiros_json(told: Book, profile: str, arguments: dict[str, Any]) -> None:
    reply = asked(told, profile, **arguments)
    assert json.loads(reply.text) == reply.data
    assert reply.data == asked(told, "kiro", **arguments).data
    assert reply.data["project"] == "my-app"


@pytest.mark.parametrize("profile", ["all", "core"])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "zebra"},
        {"project_id": "my-app"},
        {"project_id": "my-app", "query": "zebra", "limit": 1},
        {"files": ["a.py"]},
    ],
    ids=str,
)
@pytest.mark.promise("memories:decided:either-context")
def test_without_one_it_is_memories_markdown(told: Book, profile: str, arguments: dict[str, Any]) -> None:
    reply = asked(told, profile, **arguments)
    alone = asked(told, "memories", **arguments)
    assert reply.text.startswith(alone.text) and alone.data.items() <= reply.data.items()
    assert reply == alone or "query" not in arguments
    assert "## Global Rules\n- Be kind" in reply.text
    assert ("## Project Rules\n- Use tabs" in reply.text) is ("project_id" in arguments)


@pytest.mark.parametrize("profile", ["all", "core"])
def test_a_budget_alone_is_kiros_too(told: Book, profile: str) -> None:
    with pytest.raises(InvalidInput, match="'project'"):
        asked(told, profile, token_budget=500)


@pytest.mark.parametrize("profile", ["all", "core"])
@pytest.mark.parametrize("arguments", [{"project_id": "x"}, {"limit": 3}, {"files": ["a"]}], ids=str)
def test_arguments_of_both_are_refused_by_name(told: Book, profile: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(UnknownArgument, match=next(iter(arguments))):
        asked(told, profile, project="my-app", **arguments)


def test_in_a_single_dialect_only_its_own_form_exists(told: Book) -> None:
    with pytest.raises(UnknownArgument, match="'project'"):
        asked(told, "memories", project="my-app")
    with pytest.raises(UnknownArgument, match="'project_id'"):
        asked(told, "kiro", project_id="my-app")


@pytest.mark.parametrize("profile", ["core", "all"])
def test_the_first_question_is_told_where_work_stopped_after_the_rules(book: Book, profile: str) -> None:
    (tool,) = (tool for tool in tools_of(profile) if tool.name == "get_context")
    assert tool.run(book, {}).text == "No rules yet."
    remember(book, Note("Amounts are cents.", "memory", "rule", project="my-api"))
    details = {"task": "Remember people", "progress": "half"}
    remember(book, Note("", "checkpoint", "checkpoint", title="Login", details=details, project="my-api"))
    told = tool.run(book, {"project_id": "my-api"})
    assert told.text.count("Amounts are cents.") == 1
    assert told.text.index("Amounts are cents.") < told.text.index("## Where work stopped")
    assert "task: Remember people" in told.data["opening"]
    assert "opening" not in tool.run(book, {"project_id": "my-api", "query": "amounts"}).data
    (alone,) = (tool for tool in tools_of("memories") if tool.name == "get_context")
    assert "Where work stopped" not in alone.run(book, {"project_id": "my-api"}).text
