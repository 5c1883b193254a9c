"""`commonplace serve`: any number of agents over HTTP, and nobody from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from tests.mcp.conftest import DEADLINE, ERAS, Served, data_of, play

from commonplace.dialects.tool_profiles import tools_of

JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.mark.parametrize("era", ERAS)
def test_a_client_writes_and_finds_over_http(served: Served, era: str) -> None:
    async def story() -> None:
        async with served.client(era) as client:
            assert {"search", "add_memory"} <= {tool.name for tool in (await client.list_tools()).tools}
            await client.call_tool("add_memory", {"content": f"Zebra of the {era} era", "project_id": "zoo"})
            found = data_of(await client.call_tool("search", {"query": f'"zebra of the {era}"'}))
            assert found["observations"][0]["text"] == f"Zebra of the {era} era"
            failed = await client.call_tool("search", {"query": "x", "maximum": 5})
            assert failed.is_error
            assert "'maximum'" in data_of(failed)["error"]["message"]
            assert (await client.list_resources()).resources
            assert (await client.list_prompts()).prompts

    play(story)


@pytest.mark.parametrize("era", ERAS)
def test_thirty_sessions_one_after_the_other(served: Served, era: str) -> None:
    async def story() -> None:
        for _ in range(30):
            async with served.client(era) as client:
                assert not (await client.call_tool("search", {"query": "zebra"})).is_error

    play(story)


@pytest.mark.parametrize("profile", ["core", "kiro", "all"])
def test_an_address_may_name_a_profile(served: Served, profile: str) -> None:
    reply = httpx2.post(
        f"{served.url}/mcp?profile={profile}", json=LIST, headers=JSON | served.headers, timeout=DEADLINE
    )
    assert [tool["name"] for tool in reply.json()["result"]["tools"]] == [tool.name for tool in tools_of(profile)]


def test_an_unknown_profile_is_refused(served: Served) -> None:
    reply = httpx2.post(f"{served.url}/mcp?profile=none", json=LIST, headers=JSON | served.headers, timeout=DEADLINE)
    assert reply.status_code == 400 and "core" in reply.json()["error"]["message"]


def test_a_body_over_the_limit_is_refused(served: Served) -> None:
    large = json.dumps({**LIST, "params": {"x": "x" * 32 * 1024 * 1024}})
    reply = httpx2.post(f"{served.url}/mcp", content=large, headers=JSON | served.headers, timeout=DEADLINE)
    assert reply.status_code == 413
    assert httpx2.get(f"{served.url}/health", timeout=DEADLINE).status_code == 200


@pytest.mark.parametrize(
    "body", ["{not json", "[]", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}']
)
def test_a_body_that_is_no_message_is_refused(served: Served, body: str) -> None:
    reply = httpx2.post(f"{served.url}/mcp", content=body, headers=JSON | served.headers, timeout=DEADLINE)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] < 0


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_nobody_is_left_listening_for_what_never_comes(served: Served, method: str) -> None:
    with httpx2.stream(method, f"{served.url}/mcp", headers=JSON | served.headers, timeout=DEADLINE) as reply:
        assert reply.status_code == 405
        assert reply.headers["allow"] == "POST"


def test_a_client_that_stays_does_not_keep_a_server_from_ending_quietly(tmp_path: Path) -> None:
    server = Served(tmp_path, "--port", "0")

    async def story() -> None:
        async with server.client("legacy") as client:
            assert (await client.list_tools()).tools
            assert server.end() == (0, "")

    play(story)
