"""The ECM dialect over the wire: its three tools, every row of its table of errors, and keys that see one project."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client
from tests.mcp.conftest import ERAS, Served, connected, play, spawned
from tests.memory.past_work import BLOG, EXPIRES, GUARD, LIMITED, STYLED, work

from commonplace.config import load
from commonplace.memory import api_keys
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory, open_memory

THREE = {"recall", "explain", "predict"}
CALLS = {"recall": {"query": "login"}, "explain": {"topic": "login"}, "predict": {"context": "the login page crashes"}}


def prepare(folder: Path, *steps: Callable[[LocalMemory], object]) -> list[object]:
    """Fill the store that a server of this folder will open; what each step gave."""
    memory = open_memory(load({"data_dir": str(folder / "data"), "embedder": "off"}, env={}))
    try:
        return [step(memory) for step in steps]
    finally:
        memory.close()


async def says(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The data of a reply that has the shape its tool announces, and whose text says the same."""
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    result = await client.call_tool(name, arguments)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert not result.is_error, block.text
    data: dict[str, Any] = json.loads(block.text)
    assert data == result.structured_content
    Draft202012Validator(schemas[name]).validate(data)
    assert len(block.text) <= 4 * 2000
    return data


async def fails(client: Client, name: str, **arguments: Any) -> dict[str, str]:
    result = await client.call_tool(name, arguments)
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert result.is_error and json.loads(block.text) == result.structured_content
    assert result.structured_content is not None
    assert result.structured_content.keys() == {"error"}
    error: dict[str, str] = result.structured_content["error"]
    assert error.keys() == {"code", "message", "suggestion"} and all(error.values())
    return error


async def look_back(client: Client) -> None:
    """What an agent does with all three tools."""
    reply = await says(client, "recall", query="how did we implement rate limiting", minScore=0.3)
    assert LIMITED in [result["content"] for result in reply["results"]]
    assert reply["returnedCount"] == len(reply["results"]) and reply["graphContext"] is not None
    last = await says(client, "recall", query="What did we do last?")
    assert last["results"][0]["content"] == STYLED and last["results"][0]["session"] == "blog-2025-03-14"
    reply = await says(client, "explain", topic="the login", depth=5)
    assert [entry["date"] for entry in reply["timeline"]] == sorted(entry["date"] for entry in reply["timeline"])
    assert reply["summary"].startswith("It came up on ") and reply["keyChunks"]
    assert "timeline" not in await says(client, "explain", topic="the login", includeTimeline=False)
    reply = await says(client, "predict", context=f"Once more {EXPIRES}", limit=2)
    assert any(GUARD in suggestion["summary"] for suggestion in reply["suggestions"])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("profile", ["ecm", "all"])
@pytest.mark.promise("ecm:tools:three", "ecm:tools:stdio", "ecm:decided:profiles")
def test_looking_back_over_stdio(tmp_path: Path, era: str, profile: str) -> None:
    prepare(tmp_path, work)

    async def story() -> None:
        async with spawned(tmp_path, "--profile", profile, era=era) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools >= THREE and (profile == "all" or tools == THREE)
            await look_back(client)

    play(story)
    assert (tmp_path / "stderr.txt").read_text() == ""


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.promise("ecm:decided:http", "ecm:decided:one-project")
def test_looking_back_over_http_and_with_a_key_for_one_project(tmp_path: Path, era: str) -> None:
    whole, narrow = prepare(
        tmp_path,
        lambda memory: api_keys.create_key(memory, "all")[1],
        lambda memory: api_keys.create_key(memory, "blog", "read", BLOG)[1],
    )
    prepare(tmp_path, work)
    server = Served(tmp_path, "--port", "0")

    async def story() -> None:
        async with server.client(era, str(whole)) as client:
            await look_back(client)
        async with server.client(era, str(narrow)) as client:
            assert (await fails(client, "recall", query="token bucket rate limiting"))["code"] == "NO_RESULTS"
            assert (await fails(client, "predict", context=f"Once more {EXPIRES}"))["code"] == "NO_RESULTS"
            for name, arguments in (
                ("recall", {"query": "what did we do last?"}),
                ("explain", {"topic": "search and login of the blog"}),
                ("predict", {"context": "the font of the blog and its login"}),
            ):
                assert "shop" not in json.dumps(await says(client, name, **arguments))

    try:
        play(story)
    finally:
        assert server.end()[0] == 0


@pytest.mark.parametrize("era", ERAS)
def test_looking_back_in_this_process(memory: LocalMemory, era: str) -> None:
    work(memory)

    async def story() -> None:
        async with connected(memory, era, "ecm") as client:
            await look_back(client)

    play(story)


@pytest.mark.promise("ecm:decided:any-lookup")
def test_a_chunk_is_looked_up_by_its_id_in_every_dialect(tmp_path: Path) -> None:
    prepare(tmp_path, work)

    async def story() -> None:
        async with spawned(tmp_path) as client:
            (chunk, *_rest) = (await says(client, "recall", query="token bucket", minScore=0.3))["results"]
            id_ = chunk["chunkId"]
            for name, arguments, wanted in (
                ("get_observations", {"ids": [id_]}, "observations"),
                ("timeline", {"anchor_id": id_}, "timeline"),
                ("memory_get_context", {"conversation_id": id_}, "messages"),
            ):
                result = await client.call_tool(name, arguments)
                assert not result.is_error and result.structured_content is not None
                assert LIMITED[:40] in json.dumps(result.structured_content[wanted])
            result = await client.call_tool("get_observations", {"ids": ["0123456789ab"]})
            assert result.structured_content == {"observations": [], "missing": ["0123456789ab"]}

    play(story)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.promise("ecm:errors:shape", "ecm:errors:no-results", "ecm:errors:invalid-params")
def test_errors_look_as_the_reference_shows_them(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, era, "ecm") as client:
            for name, arguments in CALLS.items():
                assert await fails(client, name, **arguments) == {
                    "code": "NO_RESULTS",
                    "message": "No matching chunks found",
                    "suggestion": "Try a broader query or check if sessions were ingested",
                }
                (argument,) = arguments
                for wrong in ({}, {argument: None}, {argument: " "}, {argument: 5}, {**arguments, "project": "x"}):
                    assert (await fails(client, name, **wrong))["code"] == "INVALID_PARAMS"
            error = await fails(client, "recall", query="x", limit=0)
            assert (error["message"], error["suggestion"]) == ("Invalid limit", "Must be between 1 and 100")

    play(story)


@pytest.mark.promise("ecm:errors:db-error")
def test_a_damaged_store_is_a_database_error(tmp_path: Path) -> None:
    prepare(tmp_path, work)
    path = load({"data_dir": str(tmp_path / "data")}, env={}).database
    path.write_bytes(b"this is no database" * 500)

    async def story() -> None:
        async with spawned(tmp_path, "--profile", "ecm") as client:
            for name, arguments in CALLS.items():
                error = await fails(client, name, **arguments)
                assert error["code"] == "DB_ERROR" and "backups" in error["suggestion"]

    play(story)


@pytest.mark.promise("ecm:errors:db-error")
def test_a_store_that_another_process_keeps_locked_is_a_database_error(tmp_path: Path) -> None:
    prepare(tmp_path, work)
    path = load({"data_dir": str(tmp_path / "data")}, env={}).database
    other = apsw.Connection(str(path))
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")

    async def story() -> None:
        async with spawned(tmp_path, "--profile", "ecm", COMMONPLACE_BUSY_TIMEOUT="0.2") as client:
            for name, arguments in CALLS.items():
                error = await fails(client, name, **arguments)
                assert error["code"] == "DB_ERROR" and "locked" in error["message"]
            other.close()
            assert (await says(client, "recall", query="token bucket", minScore=0))["results"]

    try:
        play(story)
    finally:
        other.close()


@pytest.mark.promise("ecm:errors:timeout")
def test_a_query_that_takes_too_long_is_interrupted(tmp_path: Path) -> None:
    def talk_long(memory: LocalMemory) -> object:
        messages = [NewMessage("user", f"the login page crashes for customer {n} " + "word " * 40) for n in range(500)]
        return store_conversation(memory, NewConversation("Long", messages, key="long"))

    prepare(tmp_path, talk_long)

    async def story() -> None:
        async with spawned(tmp_path, "--profile", "ecm", COMMONPLACE_QUERY_TIMEOUT="1e-9") as client:
            for name, arguments in CALLS.items():
                error = await fails(client, name, **arguments)
                assert error["code"] == "TIMEOUT" and "interrupted" in error["message"]
        async with spawned(tmp_path, "--profile", "ecm") as client:
            assert (await says(client, "recall", query="login", minScore=0))["results"]

    play(story)
