"""What the references and strict clients expect, through the official client over stdio and over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from .conftest import Served, data_of, play, spawned

DOORS = ("stdio", "http")
Use = Callable[[Client], Awaitable[None]]


@contextlib.asynccontextmanager
async def client_of(door: str, folder: Path, profile: str) -> AsyncIterator[Client]:
    if door == "stdio":
        async with spawned(folder, "--profile", profile) as client:
            yield client
        return
    server = Served(folder, "--port", "0", "--profile", profile)
    try:
        async with server.client() as client:
            yield client
    finally:
        server.end()


def used(door: str, folder: Path, use: Use, profile: str = "all") -> None:
    """Run something with a client of a server of its own."""

    async def story() -> None:
        async with client_of(door, folder, profile) as client:
            await use(client)

    play(story)


async def call_tool(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return data_of(result)


async def text(client: Client, name: str, **arguments: Any) -> str:
    (block,) = (await client.call_tool(name, arguments)).content
    assert isinstance(block, types.TextContent)
    return block.text


async def code(client: Client, name: str, **arguments: Any) -> tuple[str, str]:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    error = data_of(result)["error"]
    return error["code"], error["message"]


@pytest.mark.parametrize("door", DOORS)
def test_every_tool_takes_null_for_what_is_optional(door: str, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        talk = await call_tool(
            client, "memory_store", label="L", folder="/f", messages=[{"role": "user", "content": "hello"}]
        )
        stream = await call_tool(client, "start_memory_stream")
        item = await call_tool(client, "add_memory", content="A zebra fact", type="fact")
        needed = {
            "query": "zebra", "topic": "zebra", "context": "zebra", "anchor_id": item["number"],
            "ids": [item["number"]], "id": item["id"], "content": "Another zebra", "stream_id": stream["stream_id"],
            "chunk": "zebra", "conversation_id": talk["id"], "label": "M", "folder": "/g",
            "messages": [{"role": "user", "content": "again", "timestamp": None, "metadata": None}],
        }  # fmt: skip
        # Last what takes away what others need.
        last = ["forget_memory", "append_memory_chunk", "finalize_memory_stream", "cancel_memory_stream"]
        tools = sorted(
            (await client.list_tools()).tools, key=lambda tool: last.index(tool.name) if tool.name in last else -1
        )
        for tool in tools:
            required = tool.input_schema.get("required", [])
            given = {name: needed[name] if name in required else None for name in tool.input_schema["properties"]}
            result = await client.call_tool(tool.name, given)
            message = data_of(result)["error"]["message"] if result.is_error else ""
            # Nothing to change, nothing like it yet, and a stream that is finished.
            assert not message or tool.name in ("edit_memory", "memory_update", "predict", "cancel_memory_stream"), (
                message
            )
            assert "null" not in message and "needs the argument" not in message
            for name in required:
                assert (await code(client, tool.name, **{**given, name: None}))[1] == (
                    f"{tool.name} needs the argument {name!r}."
                )

    used(door, tmp_path, use)


@pytest.mark.parametrize("door", DOORS)
def test_unknown_arguments_are_refused_though_no_schema_says_so(door: str, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            assert "additionalProperties" not in str(tool.input_schema)
            refused = await code(client, tool.name, nonsense=1)
            assert refused[0] in ("VALIDATION_ERROR", "INVALID_PARAMS") and "'nonsense'" in refused[1]
        message = {"role": "user", "content": "hello", "nonsense": 1}
        refused = await code(client, "memory_store", label="L", folder="/f", messages=[message])
        assert "messages[0] has no field 'nonsense'" in refused[1]

    used(door, tmp_path, use)


@pytest.mark.parametrize("door", DOORS)
def test_the_one_get_context_answers_mixed_arguments(door: str, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        await call_tool(client, "add_memory", content="Use tabs", type="rule", project_id="p")
        await call_tool(client, "add_memory", content="Zebras are cached", type="decision", project_id="p")
        everything = {
            "project": "p", "token_budget": 2000, "query": "zebra", "project_id": "p", "limit": 5, "files": ["a.py"],
        }  # fmt: skip
        for mix in (
            {"project": "p", "limit": 5},
            {"project": "p", "files": ["a.py"]},
            {"project_id": "p", "token_budget": 900},
            everything,
        ):
            data = await call_tool(client, "get_context", **mix)
            assert data["project"] == "p" and len(data["items"]) == 2
        assert (await text(client, "get_context")) == "No rules yet."
        rules = await text(client, "get_context", project_id="p")
        assert rules.startswith("## Project Rules\n- (agent) Use tabs") and len(rules.splitlines()) == 2

    used(door, tmp_path, use)


@pytest.mark.parametrize("door", DOORS)
def test_a_timeline_tells_of_all_projects_only_in_the_profile_of_its_reference(door: str, tmp_path: Path) -> None:
    ids: list[int] = []

    async def around(client: Client) -> list[tuple[int, str, int]]:
        rows = (await call_tool(client, "timeline", anchor_id=ids[1]))["timeline"]
        return [(row["id"], row["project"], row["position"]) for row in rows]

    async def in_all(client: Client) -> None:
        for n, place in enumerate(("p", "q", None, "p", "q")):
            added = await call_tool(client, "add_memory", content=f"Step {n}", project_id=place)
            ids.append(added["number"])
        assert await around(client) == [(ids[1], "q", 0), (ids[4], "q", 1)]

    async def in_kiro(client: Client) -> None:
        assert await around(client) == [
            (ids[0], "p", -1), (ids[1], "q", 0), (ids[2], "global", 1), (ids[3], "p", 2), (ids[4], "q", 3),
        ]  # fmt: skip

    used(door, tmp_path, in_all)
    used(door, tmp_path, in_kiro, "kiro")


@pytest.mark.parametrize("door", DOORS)
def test_archiving_a_pinned_conversation_unpins_it(door: str, tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        messages = [{"role": "user", "content": "hello"}]
        stored = await call_tool(client, "memory_store", label="L", folder="/f", messages=messages, importance_score=7)
        pinned = await call_tool(client, "memory_update", conversation_id=stored["id"], status="pinned")
        assert (pinned["status"], pinned["importance_score"]) == ("pinned", 10)
        archived = await call_tool(client, "memory_update", conversation_id=stored["id"], status="archived")
        assert (archived["status"], archived["importance_score"]) == ("archived", 7)
        again = await call_tool(client, "memory_update", conversation_id=stored["id"], importance_score=10)
        assert (again["status"], again["importance_score"]) == ("pinned", 10)

    used(door, tmp_path, use)


@pytest.mark.parametrize("door", DOORS)
def test_chatgpt_searches_and_fetches(door: str, tmp_path: Path) -> None:
    async def write(client: Client) -> None:
        await call_tool(client, "add_memory", content="The walrus sleeps on ice.", type="fact", project_id="arctic")

    async def ask(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
        (result,) = (await call_tool(client, "search", query="walrus"))["results"]
        assert result.keys() == {"id", "title", "url"}
        document = await call_tool(client, "fetch", id=result["id"])
        assert document.keys() == {"id", "title", "text", "url", "metadata"}
        assert document["text"] == "The walrus sleeps on ice." and document["metadata"]["project"] == "arctic"
        assert (await code(client, "fetch", id="999"))[0] == "NOT_FOUND"

    async def both(client: Client) -> None:
        (found,) = (await call_tool(client, "search", query="walrus"))["observations"]
        assert (await call_tool(client, "fetch", id=str(found["id"])))["text"] == "The walrus sleeps on ice."

    used(door, tmp_path, write)
    used(door, tmp_path, ask, "chatgpt")
    used(door, tmp_path, both)
