"""Plain requests over HTTP, which are answered without a session of the SDK, and answered like those with one."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from mcp_types import CallToolRequestParams, CallToolResult
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import Message
from tests.mcp.conftest import DEADLINE, Served, play

from commonplace.mcp.jsonrpc import PlainContext
from commonplace.mcp.plain_requests import PlainRequest, PlainRequests, parse_plain_request

JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
PREFIX = "io.modelcontextprotocol/"
# The SDK may know what this means, so that it has to answer.
FOR_THE_SDK = {f"{PREFIX}unknown": 1}
(MODERN,) = MODERN_PROTOCOL_VERSIONS
VERSIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, MODERN)
CLIENT = {"name": "tester", "version": "1", "title": "Tester"}
ENVELOPE = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {}, f"{PREFIX}clientInfo": CLIENT}
CALLS: dict[str, dict[str, Any]] = {
    "a reply": {"name": "search", "arguments": {"query": "zebra"}},
    "letters of all kinds": {"name": "search", "arguments": {"query": "Zürich 東京 \u2028 \U0001f993"}},
    "a list of nothing": {"name": "memory_stats", "arguments": {}},
    "no arguments": {"name": "memory_stats"},
    "metadata of a client": {"name": "search", "arguments": {"query": "zebra"}, "_meta": {"progressToken": 7}},
    "an unknown argument": {"name": "search", "arguments": {"query": "zebra", "maximum": 5}},
    "a wrong argument": {"name": "search", "arguments": {"query": 5}},
}
STATIC = ("ping", "tools/list", "prompts/list", "resources/templates/list", "server/discover")


def headers_of(version: str, method: str, params: dict[str, Any]) -> dict[str, str]:
    if version != MODERN:
        return JSON | {"mcp-protocol-version": version}
    name = {"mcp-name": params["name"]} if "name" in params else {}
    return JSON | {"mcp-protocol-version": version, "mcp-method": method} | name


def post(
    served: Served,
    method: str,
    params: dict[str, Any],
    *,
    version: str = HANDSHAKE_PROTOCOL_VERSIONS[-1],
    path: str = "/mcp",
    by_sdk: bool = False,
    **fields: object,
) -> httpx2.Response:
    meta = params.get("_meta", {}) | (ENVELOPE if version == MODERN else {}) | (FOR_THE_SDK if by_sdk else {})
    body = {"jsonrpc": "2.0", "id": "one", "method": method, "params": params | ({"_meta": meta} if meta else {})}
    sent = {name: value for name, value in (body | fields).items() if value is not None}
    headers = headers_of(version, method, params) | served.headers
    return httpx2.post(f"{served.url}{path}", json=sent, headers=headers, timeout=DEADLINE)


def assert_same(plain: httpx2.Response, by_sdk: httpx2.Response) -> None:
    assert plain.status_code == by_sdk.status_code
    assert plain.content == by_sdk.content or plain.json() == by_sdk.json()
    differing = {"date", "x-request-id", "content-length"}
    assert {k: v for k, v in plain.headers.items() if k not in differing} == {
        k: v for k, v in by_sdk.headers.items() if k not in differing
    }


@pytest.mark.parametrize("path", ["/mcp", "/api/mcp", "/mcp?profile=all"])
@pytest.mark.parametrize("name", CALLS)
def test_both_ways_give_the_same_reply(served: Served, name: str, path: str) -> None:
    plain = post(served, "tools/call", CALLS[name], path=path)
    by_sdk = post(served, "tools/call", CALLS[name], path=path, by_sdk=True)
    assert_same(plain, by_sdk)
    assert plain.status_code == 200 and plain.content == by_sdk.content


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["a reply", "a wrong argument"])
def test_both_ways_give_the_same_reply_in_each_version(served: Served, version: str, name: str) -> None:
    plain = post(served, "tools/call", CALLS[name], version=version)
    assert_same(plain, post(served, "tools/call", CALLS[name], version=version, by_sdk=True))
    assert "result" in plain.json()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", STATIC)
def test_what_the_sdk_says_once_is_said_again(served: Served, method: str, version: str) -> None:
    first, again, other = (post(served, method, {}, version=version, id=id_) for id_ in ("one", "one", 2))
    by_sdk = post(served, method, {}, version=version, by_sdk=True)
    assert_same(first, by_sdk)
    assert_same(again, by_sdk)
    assert other.json() == by_sdk.json() | {"id": 2}


def test_profiles_have_lists_of_their_own(served: Served) -> None:
    listed = [
        [
            tool["name"]
            for tool in post(served, "tools/list", {}, path=f"/mcp?profile={profile}").json()["result"]["tools"]
        ]
        for profile in ("core", "all", "core", "all")
    ]
    assert listed[0] == listed[2] != listed[1] == listed[3]


@pytest.mark.parametrize("header", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01"])
def test_a_handshake_is_answered_as_by_the_sdk(served: Served, header: str, version: str) -> None:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    replies = [post(served, "initialize", params, version=header) for _ in range(2)]
    by_sdk = post(served, "initialize", params, version=header, by_sdk=True)
    for reply in replies:
        assert_same(reply, by_sdk)
        assert reply.content == by_sdk.content


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("method", "params"), [("notifications/initialized", {}), ("notifications/cancelled", {"requestId": 1})]
)
def test_notifications_are_accepted(served: Served, method: str, params: dict[str, Any], version: str) -> None:
    plain = post(served, method, params, version=version, id=None)
    assert plain.status_code == 202 and plain.content == b""
    assert_same(plain, post(served, method, params, version=version, id=None, by_sdk=True))


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Served) -> None:
    reply = post(served, "tools/call", {"name": "nothing", "arguments": {}}).json()
    assert reply["error"]["code"] == -32602 and "nothing" in reply["error"]["message"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_is_by_whoever_the_client_says_it_is(served: Served, version: str) -> None:
    authors = []
    for by_sdk in (False, True):
        arguments = {"content": f"Written in {version}, {by_sdk}", "type": "fact"}
        call = {"name": "add_memory", "arguments": arguments}
        reply = post(served, "tools/call", call, version=version, by_sdk=by_sdk).json()
        address = f"{served.url}/api/v1/items/{reply['result']['structuredContent']['uid']}"
        authors.append(httpx2.get(address, headers=served.headers, timeout=DEADLINE).json()["author"])
    assert authors[0] == authors[1]
    assert ("Tester" in authors[0]) == (version == MODERN)


def parsed(message: object, **headers: str) -> PlainRequest | None:
    fields = {name.replace("_", "-"): value for name, value in (JSON | headers).items()}
    raw = [(name.encode(), value.encode()) for name, value in fields.items()]
    return parse_plain_request(
        Request({"type": "http", "headers": raw}), json.dumps(message).encode(), {"search": 1, "memory_stats": 2}
    )


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize(
    ("status", "body", "kept"),
    [
        (200, b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}', True),
        (200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}', False),
        (400, b'{"jsonrpc":"2.0","id":1,"result":{}}', False),
    ],
)
def test_results_of_the_sdk_are_kept_and_errors_are_not(status: int, body: bytes, kept: bool) -> None:
    async def no_tool(_context: PlainContext, _params: CallToolRequestParams) -> CallToolResult:
        raise AssertionError

    async def story() -> None:
        plain, asked, sent = PlainRequests(no_tool, ()), parsed(LIST), list[Message]()
        assert asked is not None and not plain.can_answer(asked)

        async def send(message: Message) -> None:
            sent.append(message)

        remembering = plain.remember_answer(asked, send)
        await remembering({"type": "http.response.start", "status": status, "headers": []})
        await remembering({"type": "http.response.body", "body": body[:9], "more_body": True})
        await remembering({"type": "http.response.body", "body": body[9:]})
        assert b"".join(message.get("body", b"") for message in sent) == body
        assert plain.can_answer(asked) == kept
        if kept:
            other = asked._replace(id="two")
            reply = await plain.answer(Request({"type": "http", "headers": []}), other)
            assert reply.body == body.replace(b":1,", b':"two",')

    play(story)


def test_a_plain_call_is_parsed() -> None:
    asked = parsed(CALL, content_type="application/json; charset=utf-8")
    assert asked is not None and (asked.id, asked.method, asked.params) == (1, "tools/call", CALL["params"])


@pytest.mark.parametrize(
    "message",
    [
        [CALL],
        {**CALL, "id": None},
        {**CALL, "id": True},
        {**CALL, "id": 1.5},
        {**CALL, "jsonrpc": "1.0"},
        {**CALL, "method": "resources/list"},
        {**CALL, "method": ["tools/call"]},
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
        {**CALL, "params": {"name": "search", "arguments": {}, "_meta": FOR_THE_SDK}},
        {**CALL, "params": {"name": "nothing", "arguments": {}}},
        {**LIST, "params": None},
        {**LIST, "params": {"cursor": "x"}},
        {**LIST, "method": "server/discover"},
        {**LIST, "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/progress"},
        {"jsonrpc": "2.0", "method": "tools/list"},
        {**LIST, "method": "initialize", "params": {"protocolVersion": HANDSHAKE_PROTOCOL_VERSIONS[-1]}},
        {**LIST, "method": "initialize", "params": {"protocolVersion": ["2025-06-18"]}},
    ],
)
def test_everything_else_is_for_the_sdk(message: object) -> None:
    assert parsed(message) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "text/html"},
        {"content_type": "text/plain"},
        {"mcp_protocol_version": MODERN},
        {"mcp_protocol_version": "1999-01-01"},
    ],
)
def test_so_is_a_request_with_unusual_headers(headers: dict[str, str]) -> None:
    assert parsed(CALL, **headers) is None


MODERN_CALL: dict[str, Any] = {**CALL, "params": {"name": "search", "arguments": {"query": "x"}, "_meta": ENVELOPE}}
MODERN_HEADERS = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": "search"}


def test_a_modern_call_is_parsed_with_what_its_client_calls_itself() -> None:
    asked = parsed(MODERN_CALL, **MODERN_HEADERS)
    assert asked is not None and (asked.version, asked.client) == (MODERN, "Tester")


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (CALL, {}),
        (MODERN_CALL, {"mcp_method": "tools/list"}),
        (MODERN_CALL, {"mcp_name": "memory_stats"}),
        (MODERN_CALL, {"mcp_param_query": "x"}),
        ({**CALL, "params": MODERN_CALL["params"] | {"_meta": ENVELOPE | FOR_THE_SDK}}, {}),
        ({**CALL, "params": MODERN_CALL["params"] | {"_meta": ENVELOPE | {f"{PREFIX}clientInfo": {"name": 1}}}}, {}),
        ({**MODERN_CALL, "method": "ping"}, {"mcp_method": "ping"}),
    ],
)
def test_a_modern_call_that_contradicts_itself_is_for_the_sdk(message: object, headers: dict[str, str]) -> None:
    assert parsed(message, **MODERN_HEADERS | headers) is None
