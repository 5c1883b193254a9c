"""Which tools there are, with which parameters, and who answers get_context where two dialects could."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from commonplace.dialects.tool import Reply, Tool
from commonplace.dialects.tool_profiles import tools_of
from commonplace.errors import InvalidInput, UnknownArgument
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

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
# Every argument of the one get_context with a value, and what stands for leaving it out.
VALUES: dict[str, Any] = {
    "project": "my-app",
    "token_budget": 500,
    "query": "zebra",
    "project_id": "my-app",
    "limit": 3,
    "files": ["a.py"],
}
OMITTED = object()
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
def filled_memory(memory: LocalMemory) -> LocalMemory:
    remember(memory, NewItem("Use tabs", type="rule", project="my-app"))
    remember(memory, NewItem("Be kind", type="rule"))
    remember(memory, NewItem("The zebra sleeps", type="fact", project="my-app"))
    return memory


def get_context(memory: LocalMemory, profile: str, **arguments: Any) -> Reply[Any]:
    tool = tools(profile)["get_context"]
    reply = tool.run(memory, arguments)
    Draft202012Validator(tool.output).validate(reply.data)
    return reply


@pytest.mark.parametrize("profile", ["all", "core"])
@pytest.mark.parametrize(
    "arguments",
    [{"project": "my-app"}, {"project": "my-app", "query": "zebra"}, {"project": "my-app", "token_budget": 500}],
    ids=str,
)
@pytest.mark.promise("memories:decided:either-context")
def test_with_a_project_the_context_is_kiros_json(
    filled_memory: LocalMemory, profile: str, arguments: dict[str, Any]
) -> None:
    reply = get_context(filled_memory, profile, **arguments)
    assert json.loads(reply.text) == reply.data
    assert reply.data == get_context(filled_memory, "kiro", **arguments).data
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
def test_without_one_it_is_memories_markdown(
    filled_memory: LocalMemory, profile: str, arguments: dict[str, Any]
) -> None:
    reply = get_context(filled_memory, profile, **arguments)
    assert reply == get_context(filled_memory, "memories", **arguments)
    assert "## Global Rules\n- Be kind" in reply.text
    assert ("## Project Rules\n- Use tabs" in reply.text) is ("project_id" in arguments)


def contents(reply: Reply[Any]) -> list[str]:
    return [item["content"] for item in reply.data["items"]]


def as_json_for(memory: LocalMemory, profile: str, **arguments: Any) -> Reply[Any]:
    """The reply to a mix of arguments, which has to be JSON in Kiro's shape."""
    reply = get_context(memory, profile, **arguments)
    assert json.loads(reply.text) == reply.data
    Draft202012Validator(tools("kiro")["get_context"].output).validate(reply.data)
    return reply


@pytest.mark.parametrize("profile", ["all", "core"])
@pytest.mark.promise("memories:decided:either-context")
def test_a_limit_with_a_project_counts_what_is_no_rule(filled_memory: LocalMemory, profile: str) -> None:
    for n in range(4):
        remember(filled_memory, NewItem(f"Decision {n}", type="decision", project="my-app"))
    reply = as_json_for(filled_memory, profile, project="my-app", limit=2)
    assert {"Use tabs", "Be kind"} < set(contents(reply)) and len(contents(reply)) == 4
    assert reply.data["truncated"] is True
    assert (reply.data["returnedCount"], reply.data["totalCount"]) == (4, 7)
    everything = as_json_for(filled_memory, profile, project="my-app", limit=50)
    assert everything.data == get_context(filled_memory, "kiro", project="my-app").data


@pytest.mark.parametrize("profile", ["all", "core"])
@pytest.mark.promise("memories:decided:either-context")
def test_files_with_a_project_choose_the_rules_for_paths(filled_memory: LocalMemory, profile: str) -> None:
    remember(
        filled_memory, NewItem("Handlers are thin", type="rule", project="my-app", details={"paths": "src/api/**"})
    )
    assert "Handlers are thin" in contents(as_json_for(filled_memory, profile, project="my-app"))
    assert "Handlers are thin" in contents(
        as_json_for(filled_memory, profile, project="my-app", files=["src/api/users.py"])
    )
    elsewhere = contents(as_json_for(filled_memory, profile, project="my-app", files=["docs/a.md"]))
    assert "Handlers are thin" not in elsewhere and "Use tabs" in elsewhere


@pytest.mark.parametrize("profile", ["all", "core"])
@pytest.mark.promise("memories:decided:either-context")
def test_a_budget_takes_the_project_from_wherever_it_is_named(filled_memory: LocalMemory, profile: str) -> None:
    kiro = get_context(filled_memory, "kiro", project="my-app", token_budget=500).data
    assert as_json_for(filled_memory, profile, project_id="my-app", token_budget=500).data == kiro
    assert as_json_for(filled_memory, profile, project="my-app", project_id="other", token_budget=500).data == kiro
    assert as_json_for(filled_memory, profile, project=" ", project_id="my-app", token_budget=500).data == kiro
    served_there = dataclasses.replace(
        filled_memory, settings=dataclasses.replace(filled_memory.settings, project="my-app")
    )
    assert as_json_for(served_there, profile, token_budget=500).data == kiro
    nowhere = as_json_for(filled_memory, profile, token_budget=500)
    assert nowhere.data["project"] == "global" and contents(nowhere) == ["Be kind"]


MIXES = [
    {name: value for name, value in zip(VALUES, chosen, strict=True) if value is not OMITTED}
    for chosen in itertools.product(*([value, None, OMITTED] for value in VALUES.values()))
]


@pytest.mark.promise("memories:decided:either-context")
def test_every_mix_of_arguments_gets_an_answer(filled_memory: LocalMemory) -> None:
    tool = tools("all")["get_context"]
    assert tools("core")["get_context"] is tool and len(MIXES) == 3**6
    for mix in MIXES:
        given = {name: value for name, value in mix.items() if value is not None}
        # Null is as good as leaving it out: the tool gets the same arguments.
        assert tool.checked(mix) == tool.checked(given), mix
        if mix == given:
            reply = get_context(filled_memory, "all", **mix)
            assert ("items" in reply.data) is bool({"project", "token_budget"} & given.keys()), mix


@pytest.mark.parametrize("profile", ["all", "core"])
def test_what_a_strict_client_fills_in_counts_as_omitted(filled_memory: LocalMemory, profile: str) -> None:
    # A schema without null makes a model send something for every argument.
    blanks: dict[str, Any] = {"project": "", "query": " ", "project_id": "my-app", "limit": 5, "files": []}
    assert get_context(filled_memory, profile, **blanks) == get_context(filled_memory, "memories", project_id="my-app")


@pytest.mark.parametrize("profile", ["all", "core"])
def test_an_empty_project_alone_is_kiros_error(filled_memory: LocalMemory, profile: str) -> None:
    with pytest.raises(InvalidInput, match="project is empty"):
        get_context(filled_memory, profile, project=" ")


def test_in_a_single_dialect_only_its_own_form_exists(filled_memory: LocalMemory) -> None:
    with pytest.raises(UnknownArgument, match="'project'"):
        get_context(filled_memory, "memories", project="my-app")
    with pytest.raises(UnknownArgument, match="'project_id'"):
        get_context(filled_memory, "kiro", project_id="my-app")


@pytest.mark.parametrize("profile", ["core", "all", "memories"])
@pytest.mark.promise("memories:get_context:query-optional")
def test_without_a_query_there_are_rules_only(memory: LocalMemory, profile: str) -> None:
    tool = tools(profile)["get_context"]
    assert tool.run(memory, {}).text == "No rules yet."
    remember(memory, NewItem("Amounts are cents.", "memory", "rule", project="my-api"))
    remember(memory, NewItem("Cookies last 30 days.", "memory", "decision", project="my-api"))
    remember(
        memory,
        NewItem("", "checkpoint", "checkpoint", title="Login", details={"task": "Remember people"}, project="my-api"),
    )
    reply = tool.run(memory, {"project_id": "my-api"})
    (rule,) = reply.data["project_rules"]
    assert reply.text == f"## Project Rules\n- Amounts are cents. (id: {rule['id']})"
    assert reply.data.keys() <= tools("memories")["get_context"].output["properties"].keys()
