"""Tools over the protocol, in both eras: what is listed, what is answered, how errors look."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp.shared.exceptions import MCPError
from tests.mcp.conftest import ERAS, connected, data_of, play
from tests.polling import DEADLINE
from tests.raw_sql import behind

from commonplace.dialects.tool_profiles import tools_of
from commonplace.mcp import server
from commonplace.mcp.server import build_server
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.worker_threads import Workers

KIRO = ["search", "timeline", "get_observations", "get_context"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.promise("kiro:server:four-tools")
def test_each_profile_lists_its_tools_in_a_fixed_order(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        for profile in ("kiro", "memories", "sekha", "core", "all"):
            async with connected(memory, era, profile) as client:
                first = await client.list_tools()
                names = [tool.name for tool in first.tools]
                assert names == [tool.name for tool in tools_of(profile)]
                assert len(names) == len(set(names))
                assert (await client.list_tools()).tools == first.tools
                if profile == "kiro":
                    assert names == KIRO
                elif profile in ("all", "core"):
                    assert {*KIRO, "add_memory"} <= set(names)

    play(story)


def test_a_profile_that_does_not_exist_is_refused_by_name(memory: LocalMemory) -> None:
    with pytest.raises(Exception, match="There is no profile 'nope'"):
        build_server(lambda: memory, "nope", Workers())


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_has_a_title_hints_and_both_schemas(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, era) as client:
            known = {tool.name: tool for tool in tools_of("all")}
            for tool in (await client.list_tools()).tools:
                assert tool.title
                assert tool.description
                hints = tool.annotations
                assert hints is not None
                assert hints.open_world_hint is False
                assert hints.read_only_hint is known[tool.name].read_only
                assert hints.destructive_hint is known[tool.name].destructive
                assert hints.idempotent_hint is known[tool.name].idempotent
                assert hints.read_only_hint is True or tool.name not in KIRO
                assert tool.output_schema is not None
                Draft202012Validator.check_schema(tool.input_schema)
                Draft202012Validator.check_schema(tool.output_schema)

    play(story)


@pytest.mark.parametrize("era", ERAS)
def test_an_error_is_as_the_tool_says_that_its_replies_are(memory: LocalMemory, era: str) -> None:
    # Some clients hold errors against the output schema as well, and would show its faults instead.
    async def story() -> None:
        async with connected(memory, era) as client:
            for tool in (await client.list_tools()).tools:
                assert tool.output_schema is not None
                failed = await client.call_tool(tool.name, {"nonsense": 1})
                assert failed.is_error
                Draft202012Validator(tool.output_schema).validate(failed.structured_content)
                assert tool.name == "get_context" or not Draft202012Validator(tool.output_schema).is_valid({})

    play(story)


@pytest.mark.parametrize("era", ERAS)
def test_a_reply_is_structured_and_its_text_stands_alone(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, era) as client:
            stored = await client.call_tool("add_memory", {"content": "Use tabs", "type": "rule", "project_id": "p"})
            assert not stored.is_error
            number = data_of(stored)["number"]
            assert isinstance(stored.content[0], types.TextContent)
            assert stored.content[0].text.startswith("Stored rule (@p): Use tabs")
            for name, arguments in (
                ("search", {"query": "tabs"}),
                ("timeline", {"anchor_id": number}),
                ("get_observations", {"ids": [number]}),
                ("get_context", {"project": "p"}),
            ):
                result = await client.call_tool(name, arguments)
                assert not result.is_error
                assert "Use tabs" in str(data_of(result))

    play(story)


BAD_CALLS: list[tuple[str, dict[str, Any], str, str]] = [
    ("search", {"query": ""}, "VALIDATION_ERROR", "query is empty"),
    ("search", {"query": 5}, "VALIDATION_ERROR", "query must be of type string"),
    ("search", {"query": "x", "limit": "many"}, "VALIDATION_ERROR", "limit must be a whole number"),
    ("search", {"query": "x", "max": 1}, "VALIDATION_ERROR", "no argument 'max'"),
    ("search", {"query": "x" * 100_000}, "TOO_LARGE", "100000 characters"),
    ("search", {}, "VALIDATION_ERROR", "'query'"),
    ("timeline", {"anchor_id": 999}, "NOT_FOUND", "no item 999"),
    ("get_observations", {"ids": list(range(51))}, "VALIDATION_ERROR", "51 entries"),
    ("get_context", {"project": " "}, "VALIDATION_ERROR", "project is empty"),
    ("add_memory", {"content": "x", "type": "poem"}, "VALIDATION_ERROR", "type is 'poem'"),
]


@pytest.mark.parametrize("era", ERAS)
def test_an_error_has_a_code_a_message_and_a_next_step(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, era) as client:
            for name, arguments, code, message in BAD_CALLS:
                result = await client.call_tool(name, arguments)
                assert result.is_error is True
                error = data_of(result)["error"]
                assert error.keys() == {"code", "message", "details"}
                assert error["code"] == code
                assert message in error["message"]
                assert error["details"]
            assert not (await client.call_tool("search", {"query": "still alive"})).is_error

    play(story)


@pytest.mark.parametrize("era", ERAS)
def test_a_failure_of_ours_is_an_error_and_not_the_end(
    memory: LocalMemory, era: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("a secret path")

    async def story() -> None:
        async with connected(memory, era) as client:
            with monkeypatch.context() as patch:
                patch.setattr("commonplace.dialects.kiro.timeline", broken)
                result = await client.call_tool("timeline", {"anchor_id": 1})
            error = data_of(result)["error"]
            assert result.is_error is True
            assert (error["code"], error["message"]) == ("INTERNAL_ERROR", "timeline failed: ZeroDivisionError.")
            assert not (await client.call_tool("search", {"query": "still alive"})).is_error

    play(story)
    assert "timeline failed" in caplog.text


@pytest.mark.parametrize("era", ERAS)
def test_an_unknown_tool_is_a_protocol_error(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, era, "kiro") as client:
            for name in ("no_such_tool", "add_memory"):
                with pytest.raises(MCPError, match=f"Unknown tool: {name}") as refused:
                    await client.call_tool(name, {})
                assert refused.value.error.code == types.INVALID_PARAMS

    play(story)


@pytest.mark.parametrize("era", ERAS)
def test_the_server_says_who_it_is_and_what_it_is_for(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, "auto" if era != "legacy" else era) as client:
            assert client.instructions is not None
            for word in ("get_context", "search", "add_memory", "never instructions"):
                assert word in client.instructions
            assert client.server_info is not None
            assert (client.server_info.name, client.server_info.title) == ("commonplace", "Commonplace")
            assert client.server_info.version
        for profile in ("kiro", "memories"):
            async with connected(memory, "auto" if era != "legacy" else era, profile) as client:
                assert client.instructions is not None
                named = {tool for tool in (*KIRO, "add_memory") if f"call {tool}" in client.instructions}
                assert named <= {tool.name for tool in tools_of(profile)}

    play(story)


def test_lists_may_be_kept_for_a_while_in_the_modern_era(memory: LocalMemory) -> None:
    async def story() -> None:
        async with connected(memory, "2026-07-28") as client:
            for listing in (
                await client.list_tools(),
                await client.list_prompts(),
                await client.list_resource_templates(),
            ):
                assert listing.ttl_ms == 300_000
                assert listing.cache_scope == "private"
            assert (await client.list_resources()).ttl_ms == 0

    play(story)


def test_a_question_after_a_write_sees_it_even_if_both_are_under_way(
    memory: LocalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import anyio

    # On a busy machine a write may take longer than a question waits for one.
    monkeypatch.setattr(server, "WAIT_FOR_WRITES", DEADLINE)

    async def story() -> None:
        async with connected(memory) as client:
            seen: list[int] = []

            async def write(n: int) -> None:
                await client.call_tool("add_memory", {"content": f"zebra{n}", "project_id": "zoo"})

            async def ask(n: int) -> None:
                found = data_of(await client.call_tool("search", {"query": f"zebra{n}"}))
                seen.append(len(found["observations"]))

            async with anyio.create_task_group() as together:
                for n in range(10):
                    together.start_soon(write, n)
                    together.start_soon(ask, n)
            assert seen == [1] * 10

    play(story)


def test_a_question_does_not_wait_for_a_write_that_hangs(memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio

    monkeypatch.setattr(server, "WAIT_FOR_WRITES", 0.01)
    remember(memory, NewItem(content="The zebra arrived", project="zoo"))

    async def story() -> None:
        async with connected(memory) as client, anyio.create_task_group() as together:
            with behind(memory.settings) as ask:
                ask("BEGIN IMMEDIATE")
                together.start_soon(client.call_tool, "add_memory", {"content": "hyena", "project_id": "zoo"})
                await anyio.wait_all_tasks_blocked()
                for query, found in (("zebra", 1), ("hyena", 0)):
                    reply = data_of(await client.call_tool("search", {"query": query}))
                    assert len(reply["observations"]) == found

    play(story)


def test_what_is_remembered_beside_the_server_is_found_by_it(memory: LocalMemory) -> None:
    async def story() -> None:
        async with connected(memory) as client:
            remember(memory, NewItem(content="The zebra arrived", project="zoo"))
            found = data_of(await client.call_tool("search", {"query": "zebra"}))
            assert [observation["text"] for observation in found["observations"]] == ["The zebra arrived"]

    play(story)
