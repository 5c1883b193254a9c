"""The Sekha dialect over the wire: its workflows, every row of its table of errors, and several processes at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import apsw
import httpx2
import pytest
from tests.mcp.conftest import ERAS, Served, connected, play, spawned
from tests.mcp.test_memories import Agent

from commonplace.memory.local_memory import LocalMemory

SEVEN = {
    *("memory_store", "memory_search", "memory_update", "memory_get_context"),
    *("memory_prune", "memory_export", "memory_stats"),
}
TALK: dict[str, Any] = {
    "label": "Database Optimization Discussion",
    "folder": "/work/engineering",
    "messages": [
        {"role": "user", "content": "How can we optimize our database queries?", "timestamp": "2025-01-20T10:00:00Z"},
        {"role": "assistant", "content": "Here are several strategies…", "timestamp": "2025-01-20T10:00:05Z"},
    ],
    "importance_score": 3,
}


async def a_day(agent: Agent) -> None:
    """What an agent does with all seven tools."""
    text, stored = await agent.says("memory_store", **TALK)
    assert json.loads(text) == stored
    assert (stored["status"], stored["message_count"]) == ("active", 2)
    id_ = stored["conversation_id"]
    _, found = await agent.says("memory_search", query="optimize database", filter_labels=["Engineering"])
    assert (found["results"][0]["conversation_id"], found["total"]) == (id_, 1)
    _, read = await agent.says("memory_get_context", conversation_id=id_)
    assert [message["role"] for message in read["messages"]] == ["user", "assistant"]
    _, proposed = await agent.says("memory_prune", threshold_days=0, importance_threshold=5.0)
    assert [candidate["id"] for candidate in proposed["candidates"]] == [id_]
    assert proposed["candidates"][0]["reason"].startswith("Low importance (3 of 10), no message for ")
    _, changed = await agent.says("memory_update", conversation_id=id_, status="archived", folder="/work/archive")
    assert (changed["status"], changed["folder"]) == ("archived", "/work/archive")
    assert (await agent.says("memory_prune", threshold_days=0))[1]["total_candidates"] == 0
    text, exported = await agent.says("memory_export", conversation_id=id_, format="markdown")
    assert text == exported["content"] and text.startswith(
        "# Database Optimization Discussion\n\n**Folder:** /work/archive"
    )
    _, exported = await agent.says("memory_export", conversation_id=id_)
    assert exported["messages"] == read["messages"]
    _, stats = await agent.says("memory_stats", folder="/work")
    assert (stats["total_conversations"], stats["status_breakdown"]["archived"]) == (1, 1)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("profile", ["sekha", "all"])
@pytest.mark.promise(
    "sekha:tools:seven", "sekha:decided:profiles", "sekha:workflow:store-and-find", "sekha:workflow:cleanup"
)
def test_a_day_over_stdio(tmp_path: Path, era: str, profile: str) -> None:
    async def story() -> None:
        async with spawned(tmp_path, "--profile", profile, era=era) as client:
            agent = await Agent.of(client)
            assert agent.tools >= SEVEN
            assert profile == "all" or agent.tools == SEVEN
            await a_day(agent)

    play(story)
    assert (tmp_path / "stderr.txt").read_text() == ""


@pytest.mark.parametrize("era", ERAS)
def test_a_day_in_this_process(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, era, "sekha") as client:
            await a_day(await Agent.of(client))

    play(story)


@pytest.mark.parametrize("era", ERAS)
def test_a_day_over_http(tmp_path: Path, era: str) -> None:
    server = Served(tmp_path, "--port", "0")

    async def story() -> None:
        async with server.client(era) as client:
            await a_day(await Agent.of(client))

    try:
        play(story)
    finally:
        assert server.end()[0] == 0


@pytest.mark.promise("sekha:workflow:continuity", "sekha:decided:one-memory")
def test_another_session_goes_on_where_one_left_off(tmp_path: Path) -> None:
    async def story() -> None:
        async with spawned(tmp_path, "--profile", "sekha", COMMONPLACE_PROJECT="shop") as client:
            _, stored = await (await Agent.of(client)).says("memory_store", **TALK)
        async with spawned(tmp_path, "--profile", "all", COMMONPLACE_PROJECT="shop") as client:
            agent = await Agent.of(client)
            _, found = await agent.says("memory_search", query="database queries")
            assert found["results"][0]["conversation_id"] == stored["id"]
            _, read = await agent.says("memory_get_context", conversation_id=stored["id"])
            assert [message["content"] for message in read["messages"]] == [m["content"] for m in TALK["messages"]]
            assert (await agent.says("search", query="optimize queries"))[1]["observations"]
            text, _ = await agent.says("get_context", query="optimize database queries")
            assert "How can we optimize our database queries?" in text
            assert "optimize" in (await agent.says("search_memories", query="optimize"))[0]
            await agent.says("add_memory", content="Indexes made the queries fast", type="fact")
            _, found = await agent.says("memory_search", query="indexes")
            assert found["results"][0]["content"] == "Indexes made the queries fast"

    play(story)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.promise("sekha:errors:shape", "sekha:errors:not-found", "sekha:errors:validation")
def test_errors_look_as_the_reference_shows_them(memory: LocalMemory, era: str) -> None:
    async def story() -> None:
        async with connected(memory, era, "sekha") as client:
            agent = await Agent.of(client)
            result = await client.call_tool("memory_store", TALK | {"importance_score": 11})
            assert result.is_error and result.structured_content == {
                "error": {
                    "code": "VALIDATION_ERROR",
                    "message": "Invalid importance_score",
                    "details": "Must be between 0.0 and 10.0",
                }
            }
            error = await agent.fails("memory_get_context", conversation_id="conv-uuid")
            assert (error["code"], error["message"]) == ("NOT_FOUND", "There is no conversation 'conv-uuid'.")
            assert "Verify conversation_id" in error["details"]
            for name, arguments in (
                ("memory_search", {"query": "x", "limit": "ten"}),
                ("memory_search", {"query": None}),
                ("memory_store", TALK | {"messages": []}),
                ("memory_store", TALK | {"label": "x" * 501}),
                ("memory_prune", {"threshold_days": -1}),
                ("memory_stats", {"directory": "/work"}),
            ):
                assert (await agent.fails(name, **arguments))["code"] == "VALIDATION_ERROR"
            assert (await agent.says("memory_stats"))[1]["total_conversations"] == 0

    play(story)


@pytest.mark.promise("sekha:errors:service-unavailable")
def test_a_store_that_another_process_keeps_locked_is_unavailable(tmp_path: Path) -> None:
    async def story() -> None:
        async with spawned(tmp_path, "--profile", "sekha", COMMONPLACE_BUSY_TIMEOUT="0.2") as client:
            agent = await Agent.of(client)
            _, stored = await agent.says("memory_store", **TALK)
            (path,) = (tmp_path / "data").glob("*.db")
            other = apsw.Connection(str(path))
            try:
                other.execute("BEGIN IMMEDIATE")
                error = await agent.fails("memory_store", **TALK | {"label": "Another"})
                assert error["code"] == "SERVICE_UNAVAILABLE"
                assert "locked by another process" in error["message"] and "Try again" in error["details"]
                changed = await agent.fails("memory_update", conversation_id=stored["id"], label="x")
                assert changed["code"] == "SERVICE_UNAVAILABLE"
                # Reading goes on, although that it was read cannot be noted.
                _, read = await agent.says("memory_get_context", conversation_id=stored["id"])
                assert (read["message_count"], read["last_accessed"]) == (2, None)
            finally:
                other.close()
            _, read = await agent.says("memory_get_context", conversation_id=stored["id"])
            assert (read["label"], read["last_accessed"]) == (TALK["label"], None)
            assert (await agent.says("memory_store", **TALK | {"label": "Another"}))[1]["message_count"] == 2

    play(story)


@pytest.mark.promise("sekha:errors:unauthorized")
def test_a_call_without_a_key_that_works_is_unauthorized(served: Served) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}}
    headers = {"accept": "application/json, text/event-stream"}
    for sent in ({}, {"authorization": "Bearer sk-sekha-" + "0" * 40}):
        reply = httpx2.post(f"{served.url}/mcp", json=call, headers=headers | sent)
        assert reply.status_code == 401
        error = reply.json()["error"]
        assert error["code"] == "UNAUTHORIZED" and error["message"] and error["details"]


@pytest.mark.promise("sekha:decided:at-once")
def test_processes_that_store_the_same_at_once_make_one(tmp_path: Path) -> None:
    replies: list[dict[str, Any]] = []

    async def store(agent: Agent) -> None:
        replies.append((await agent.says("memory_store", **TALK))[1])

    async def story() -> None:
        async with (
            spawned(tmp_path, "--profile", "sekha") as one,
            spawned(tmp_path, "--profile", "sekha") as two,
            spawned(tmp_path, "--profile", "sekha") as three,
        ):
            agents = [await Agent.of(client) for client in (one, two, three)]
            async with anyio.create_task_group() as together:
                for agent in agents:
                    together.start_soon(store, agent)
            _, stats = await agents[0].says("memory_stats")
            assert (stats["total_conversations"], stats["total_messages"]) == (1, 2)

    play(story)
    assert len({reply["id"] for reply in replies}) == 1
    assert sorted(reply["duplicate"] for reply in replies) == [False, True, True]


@pytest.mark.promise("sekha:bad-input:huge")
def test_twenty_thousand_messages_cross_the_wire_and_one_more_does_not(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": f"line {n} 🦓"} for n in range(20_001)]

    async def story() -> None:
        async with spawned(tmp_path, "--profile", "sekha") as client:
            agent = await Agent.of(client)
            error = await agent.fails("memory_store", label="Long", folder="/", messages=messages)
            assert (error["code"], "20001" in error["message"]) == ("VALIDATION_ERROR", True)
            _, stored = await agent.says("memory_store", label="Long", folder="/", messages=messages[:-1])
            _, read = await agent.says("memory_get_context", conversation_id=stored["id"])
            assert [message["content"] for message in read["messages"]] == [m["content"] for m in messages[:-1]]

    play(story)
