"""The memories.sh dialect over the wire: stdio and HTTP, as agents of both eras use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client
from tests.mcp.conftest import DEADLINE, ERAS, Served, environment, play, spawned

ELEVEN = {
    *("get_context", "add_memory", "search_memories", "get_rules", "list_memories", "edit_memory", "forget_memory"),
    *("start_memory_stream", "append_memory_chunk", "finalize_memory_stream", "cancel_memory_stream"),
}


class Agent:
    """A client that checks every reply against the schema its tool announced."""

    def __init__(self, client: Client, schemas: dict[str, dict[str, Any]]) -> None:
        self._client, self._schemas = client, schemas

    @classmethod
    async def of(cls, client: Client) -> Agent:
        listed = (await client.list_tools()).tools
        return cls(client, {tool.name: dict(tool.output_schema or {}) for tool in listed})

    @property
    def tools(self) -> set[str]:
        return set(self._schemas)

    async def says(self, name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        result = await self._client.call_tool(name, arguments)
        (block,) = result.content
        assert isinstance(block, types.TextContent)
        assert not result.is_error, block.text
        assert result.structured_content is not None
        Draft202012Validator(self._schemas[name]).validate(result.structured_content)
        return block.text, result.structured_content

    async def fails(self, name: str, **arguments: Any) -> dict[str, str]:
        result = await self._client.call_tool(name, arguments)
        assert result.is_error
        assert result.structured_content is not None
        error: dict[str, str] = result.structured_content["error"]
        assert error.keys() == {"code", "message", "details"}
        return error


async def a_day(agent: Agent, project: str) -> None:
    """What an agent does with all eleven tools."""
    text, rule = await agent.says("add_memory", content="Use pnpm, not npm", type="rule", project_id=project)
    assert text == f"Stored rule (@my-app): Use pnpm, not npm\nid: {rule['id']} (📌 RULE)"
    await agent.says("add_memory", content="Validate with zod", type="rule", project_id=project, paths=["src/api/**"])
    text, _ = await agent.says("get_rules", project_id=project)
    assert text.startswith(
        f"## Project Rules\n- (agent) Use pnpm, not npm (id: {rule['id']})\n\n### src/api/**\n- (agent) Validate"
    )
    text, data = await agent.says("get_context", project_id=project, files=["docs/a.md"])
    assert "zod" not in text and data["rules_for_other_files"] == 1
    stream, _ = await agent.says("start_memory_stream", type="fact", **{"global": True})
    assert (await agent.says("append_memory_chunk", stream_id=stream, chunk="The zebra "))[0] == "1 chunk, 10 chars"
    assert (await agent.says("append_memory_chunk", stream_id=stream, chunk="sleeps 🦓"))[0] == "2 chunks, 18 chars"
    text, data = await agent.says("finalize_memory_stream", stream_id=stream)
    assert text == f"Created 📋 FACT {data['memory']['id']} from 2 chunks (18 chars)"
    assert (await agent.fails("finalize_memory_stream", stream_id=stream))["code"] == "CONFLICT"
    other, _ = await agent.says("start_memory_stream")
    await agent.says("cancel_memory_stream", stream_id=other)
    assert (await agent.fails("append_memory_chunk", stream_id=other, chunk="x"))["code"] == "CONFLICT"
    text, _ = await agent.says("get_context", query="zebra", project_id=project)
    assert text.endswith(f"## Relevant Memories\n📋 FACT (G) {data['memory']['id']}: (agent) The zebra sleeps 🦓")
    text, new = await agent.says("add_memory", content="Use npm, not pnpm", type="rule", project_id=project)
    assert new["contradicts"][0]["id"] == rule["id"]
    await agent.says("edit_memory", id=new["id"], supersedes=rule["id"], tags=["npm"])
    text, _ = await agent.says("search_memories", query="npm", type="rule", project_id=project)
    assert text == f"Found 1 memory:\n\n📌 RULE (P) {new['id']}: (agent) Use npm, not pnpm [npm]"
    await agent.says("forget_memory", id=new["id"])
    text, data = await agent.says("list_memories", project_id=project)
    assert [memory["content"] for memory in data["memories"]] == ["The zebra sleeps 🦓", "Validate with zod"]
    error = await agent.fails("edit_memory", id=new["id"], content="x")
    assert error["code"] == "NOT_FOUND" and "commonplace restore" in error["details"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("profile", ["memories", "all"])
@pytest.mark.promise("memories:tools:eleven", "memories:decided:profiles")
def test_a_day_over_stdio(tmp_path: Path, era: str, profile: str) -> None:
    async def story() -> None:
        async with spawned(tmp_path, "--profile", profile, era=era) as client:
            agent = await Agent.of(client)
            assert agent.tools >= ELEVEN
            assert profile == "all" or agent.tools == ELEVEN
            await a_day(agent, "github.com/acme/my-app")

    play(story)
    assert (tmp_path / "stderr.txt").read_text() == ""


@pytest.mark.parametrize("era", ERAS)
def test_a_day_over_http(tmp_path: Path, era: str) -> None:
    server = Served(tmp_path, "--port", "0")
    try:

        async def story() -> None:
            async with server.client(era) as client:
                agent = await Agent.of(client)
                assert agent.tools >= ELEVEN
                await a_day(agent, "github.com/acme/my-app")

        play(story)
    finally:
        assert server.end()[0] == 0


@pytest.mark.promise("memories:decided:either-context")
def test_the_everyday_profile_answers_both_ways(tmp_path: Path) -> None:
    async def story() -> None:
        async with spawned(tmp_path, "--profile", "core") as client:
            agent = await Agent.of(client)
            assert agent.tools & ELEVEN == {"get_context", "add_memory", "edit_memory", "forget_memory"}
            await agent.says("add_memory", content="Use tabs", type="rule", project_id="my-app")
            text, data = await agent.says("get_context", project="my-app")
            assert json.loads(text) == data and data["items"][0]["content"] == "Use tabs"
            text, data = await agent.says("get_context", project_id="my-app")
            assert text.startswith("## Project Rules\n- (agent) Use tabs")

    play(story)


@pytest.mark.promise("memories:decided:streams-survive")
def test_a_stream_goes_on_in_another_server(tmp_path: Path) -> None:
    async def story() -> None:
        async with spawned(tmp_path, "--profile", "memories") as client:
            agent = await Agent.of(client)
            stream, _ = await agent.says("start_memory_stream", tags=["v0"])
            await agent.says("append_memory_chunk", stream_id=stream, chunk="Before, ")
        server = Served(tmp_path, "--port", "0")
        try:
            async with server.client() as client:
                agent = await Agent.of(client)
                text, _ = await agent.says("append_memory_chunk", stream_id=stream, chunk="after")
                assert text == "2 chunks, 13 chars"
                _, data = await agent.says("finalize_memory_stream", stream_id=stream)
                assert (data["memory"]["content"], data["memory"]["tags"]) == ("Before, after", ["v0"])
        finally:
            server.end()

    play(story)


async def ten_megabytes(agent: Agent) -> None:
    stream, _ = await agent.says("start_memory_stream")
    error = await agent.fails("append_memory_chunk", stream_id=stream, chunk="x" * 10_000_000)
    assert (error["code"], error["details"]) == ("TOO_LARGE", "Send it in smaller chunks.")
    assert (await agent.fails("add_memory", content="x" * 10_000_000))["code"] == "TOO_LARGE"
    assert (await agent.says("append_memory_chunk", stream_id=stream, chunk="x"))[0] == "1 chunk, 1 chars"
    assert (await agent.says("list_memories"))[0] == "0 memories."


@pytest.mark.promise("memories:bad-input:huge")
def test_ten_megabytes_are_refused_and_the_server_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with spawned(tmp_path, "--profile", "memories") as client:
            await ten_megabytes(await Agent.of(client))

    play(story)


@pytest.mark.promise("memories:bad-input:huge")
def test_ten_megabytes_over_http_are_refused_in_the_same_words(tmp_path: Path) -> None:
    server = Served(tmp_path, "--port", "0")

    async def story() -> None:
        async with server.client() as client:
            await ten_megabytes(await Agent.of(client))

    try:
        play(story)
    finally:
        server.end()


@pytest.mark.promise("memories:decided:one-memory")
def test_the_command_line_and_an_agent_share_one_memory(tmp_path: Path) -> None:
    def commonplace(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "commonplace", *arguments],
            env={**os.environ, **environment(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=DEADLINE,
            check=True,
        )
        return done.stdout

    async def story() -> None:
        async with spawned(tmp_path, "--profile", "all") as client:
            agent = await Agent.of(client)
            seen = ("--kind", "observation", "--type", "file-write", "--title", "Modified zebra.ts", "--project", "zoo")
            commonplace("add", "Gave it stripes", *seen)
            text, _ = await agent.says("search_memories", query="zebra", project_id="zoo")
            assert "Modified zebra.ts: Gave it stripes" in text
            _, rule = await agent.says("add_memory", content="Feed it at noon", type="rule", project_id="zoo")
            await agent.says("forget_memory", id=rule["id"])
            assert (await agent.says("get_rules", project_id="zoo"))[0] == "No rules yet."
            commonplace("restore", rule["id"])
            assert "Feed it at noon" in (await agent.says("get_rules", project_id="zoo"))[0]
            _, found = await agent.says("search", query="feed noon", project="zoo")
            assert found["observations"][0]["text"] == "Feed it at noon"

    play(story)
