"""What all replies share: their announced shape, no secrets, and news of a failure once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.conftest import Clock
from tests.dialects.conftest import TOOLS, Call, calling

from commonplace.config import Settings
from commonplace.dialects.tool import Tool
from commonplace.dialects.tool_profiles import ALL, tools_of
from commonplace.errors import InvalidInput
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember, remember_all

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CALLS = [
    ("search", {"query": "zebra"}),
    ("timeline", {"anchor_id": 1}),
    ("get_observations", {"ids": [1]}),
    ("get_context", {"project": "zoo"}),
    ("get_context", {"project": "zoo", "query": "zebra"}),
]


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
def test_every_tool_announces_valid_schemas(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.input_schema())
    Draft202012Validator.check_schema(dict(tool.output))
    assert "additionalProperties" not in str(tool.input_schema()), "google-genai cannot read a boolean there"
    assert tool.output["type"] == "object"
    assert tool.title
    assert len(tool.description) < 300


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_the_text_is_the_data_as_json(example: LocalMemory, tool: str, arguments: dict[str, object]) -> None:
    reply = TOOLS[tool].run(example, arguments)
    assert json.loads(reply.text) == reply.data


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
@pytest.mark.promise("kiro:decided:secrets-stay")
def test_a_secret_that_got_in_does_not_get_out(
    memory: LocalMemory, call: Call, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, object]
) -> None:
    # As if it had been written before its shape was known.
    monkeypatch.setattr("commonplace.memory.draft.redact", lambda text: text)
    found_by_name = {name: f"{name} {SECRET}" for name in ("subtitle", "narrative", "facts")}
    remember(
        memory,
        NewItem(
            kind="observation", title=f"zebra {SECRET}", content=f"text {SECRET}", details=found_by_name, project="zoo"
        ),
    )
    summary = {"request": f"zebra {SECRET}", "learned": SECRET}
    remember(memory, NewItem(kind="summary", session="s", details=summary, project="zoo"))
    remember(memory, NewItem(kind="checkpoint", session="s", details={"task": SECRET}, project="zoo"))
    reply = TOOLS[tool].run(memory, arguments)
    assert SECRET not in reply.text
    assert SECRET not in str(reply.data)
    assert "[REDACTED:github-token]" in reply.text
    assert json.loads(reply.text) == reply.data


def test_redaction_does_not_tear_the_reply(memory: LocalMemory) -> None:
    # Apart these are no secret, but a pattern for private keys reaches from one to the other.
    remember_all(
        memory,
        [
            NewItem(content="zebra ends with -----END RSA PRIVATE KEY-----"),
            NewItem(content="zebra begins with -----BEGIN RSA PRIVATE KEY----- and more"),
        ],
    )
    reply = TOOLS["search"].run(memory, {"query": "zebra"})
    assert json.loads(reply.text) == reply.data
    assert len(reply.data["observations"]) == 2


@pytest.mark.promise("kiro:decided:notice-once")
def test_that_meaning_does_not_work_is_said_once(settings: Settings, clock: Clock) -> None:
    nowhere = replace(
        settings, embedder="endpoint", endpoint_url="http://127.0.0.1:9/v1", endpoint_model="m", endpoint_timeout=0.2
    )
    memory = open_memory(nowhere, clock)
    try:
        call = calling(memory)
        remember(memory, NewItem(content="The zebra eats grass", project="zoo"))
        first = call("search", query="zebra")
        assert len(first["observations"]) == 1
        assert first["notice"].startswith("Keyword search only: failed: ")
        assert "notice" not in call("search", query="zebra grass")
        assert "notice" not in call("get_context", project="zoo", query="zebra")
    finally:
        memory.close()


def test_a_context_says_it_too_if_it_is_asked_first(settings: Settings, clock: Clock) -> None:
    nowhere = replace(
        settings, embedder="endpoint", endpoint_url="http://127.0.0.1:9/v1", endpoint_model="m", endpoint_timeout=0.2
    )
    memory = open_memory(nowhere, clock)
    try:
        call = calling(memory)
        assert "notice" not in call("get_context", project="zoo")
        reply = TOOLS["get_context"].run(memory, {"project": "zoo", "query": "zebra", "token_budget": 200})
        assert reply.data["notice"].startswith("Keyword search only")
        assert len(reply.text) / 4 <= 200
        assert "notice" not in call("search", query="zebra")
    finally:
        memory.close()


def test_profiles_are_one_table() -> None:
    kiro = ["search", "timeline", "get_observations", "get_context"]
    assert [tool.name for tool in tools_of("kiro")] == kiro
    assert {tool.name for tool in tools_of("core")} <= {tool.name for tool in tools_of("all")}
    assert len(tools_of("sekha")) == 7
    with pytest.raises(InvalidInput, match="nonsense"):
        tools_of("nonsense")
