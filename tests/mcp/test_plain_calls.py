"""Plain calls over HTTP, which are answered without a session of the SDK, and answered like those with one."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from tests.mcp.conftest import DEADLINE, Served

from commonplace.mcp.plain_calls import PlainCall, parse_plain_call

JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
# The SDK may know what this means, so that it has to answer.
FOR_THE_SDK = {"_meta": {"io.modelcontextprotocol/unknown": 1}}
CALLS: dict[str, dict[str, Any]] = {
    "a reply": {"name": "search", "arguments": {"query": "zebra"}},
    "letters of all kinds": {"name": "search", "arguments": {"query": "Zürich 東京 \u2028 \U0001f993"}},
    "a list of nothing": {"name": "memory_stats", "arguments": {}},
    "no arguments": {"name": "memory_stats"},
    "metadata of a client": {"name": "search", "arguments": {"query": "zebra"}, "_meta": {"progressToken": 7}},
    "an unknown argument": {"name": "search", "arguments": {"query": "zebra", "maximum": 5}},
    "a wrong argument": {"name": "search", "arguments": {"query": 5}},
}


def post(served: Served, params: dict[str, Any], path: str = "/mcp", **headers: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": "one", "method": "tools/call", "params": params}
    everything = JSON | served.headers | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(f"{served.url}{path}", json=body, headers=everything, timeout=DEADLINE)


@pytest.mark.parametrize("path", ["/mcp", "/api/mcp", "/mcp?profile=all"])
@pytest.mark.parametrize("name", CALLS)
def test_both_ways_give_the_same_reply(served: Served, name: str, path: str) -> None:
    plain = post(served, CALLS[name], path)
    by_sdk = post(served, CALLS[name] | FOR_THE_SDK, path)
    assert plain.status_code == by_sdk.status_code == 200
    assert plain.content == by_sdk.content
    differing = {"date", "x-request-id"}
    assert {k: v for k, v in plain.headers.items() if k not in differing} == {
        k: v for k, v in by_sdk.headers.items() if k not in differing
    }


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_both_ways_give_the_same_reply_in_each_version(served: Served, version: str) -> None:
    plain = post(served, CALLS["a reply"], mcp_protocol_version=version)
    by_sdk = post(served, CALLS["a reply"] | FOR_THE_SDK, mcp_protocol_version=version)
    assert plain.content == by_sdk.content and b'"result"' in plain.content


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Served) -> None:
    reply = post(served, {"name": "nothing", "arguments": {}}).json()
    assert reply["error"]["code"] == -32602 and "nothing" in reply["error"]["message"]


def parsed(message: object, **headers: str) -> PlainCall | None:
    fields = {name.replace("_", "-"): value for name, value in (JSON | headers).items()}
    raw = [(name.encode(), value.encode()) for name, value in fields.items()]
    return parse_plain_call(
        Request({"type": "http", "headers": raw}), json.dumps(message).encode(), ("search", "memory_stats")
    )


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}}


def test_a_plain_call_is_parsed() -> None:
    call = parsed(CALL, content_type="application/json; charset=utf-8")
    assert call is not None and (call.id, call.params.name, call.params.arguments) == (1, "search", {"query": "x"})


@pytest.mark.parametrize(
    "message",
    [
        [CALL],
        {**CALL, "id": None},
        {**CALL, "id": True},
        {**CALL, "id": 1.5},
        {**CALL, "jsonrpc": "1.0"},
        {**CALL, "method": "tools/list"},
        {**CALL, "more": 1},
        {name: value for name, value in CALL.items() if name != "id"},
        {**CALL, "params": []},
        {**CALL, "params": {"arguments": {}}},
        {**CALL, "params": {"name": "search", "arguments": None}},
        {**CALL, "params": {"name": "search", "arguments": ["x"]}},
        {**CALL, "params": {"name": ["search"], "arguments": {}}},
        {**CALL, "params": {"name": "search", "arguments": {}, "task": {}}},
        {**CALL, "params": {"name": "search", "arguments": {}, "_meta": None}},
        {**CALL, "params": {"name": "search", "arguments": {}, "_meta": {"progressToken": [1]}}},
        {**CALL, "params": {"name": "search", "arguments": {}} | FOR_THE_SDK},
        {**CALL, "params": {"name": "nothing", "arguments": {}}},
    ],
)
def test_everything_else_is_for_the_sdk(message: object) -> None:
    assert parsed(message) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "text/html"},
        {"content_type": "text/plain"},
        {"mcp_protocol_version": "2026-07-28"},
        {"mcp_protocol_version": "1999-01-01"},
    ],
)
def test_so_is_a_call_with_unusual_headers(headers: dict[str, str]) -> None:
    assert parsed(CALL, **headers) is None
