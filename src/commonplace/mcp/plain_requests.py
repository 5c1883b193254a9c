"""Requests over HTTP that are answered without a session of the SDK.

Over HTTP each request stands alone. For each the SDK makes a transport, four streams and three tasks, which costs more
than most tools take, and it builds the list of tools anew. A call of a known tool that says nothing but its name and
arguments needs none of that, and what depends on the version of the protocol alone the SDK says once. Both get the
same reply here. Everything else is left to the SDK: other methods and versions, and whatever is wrong or unusual.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import mcp_types as types
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import (
    MCP_PARAM_HEADER_PREFIX,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp_types.methods import validate_client_notification, validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic_core import from_json, to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Send

from commonplace.mcp.jsonrpc import CallTool, PlainContext, result_fields

_JSON = "application/json"
_CALL = "tools/call"
_HANDSHAKE = "initialize"
# The methods, and their parameters besides metadata. Of all but calls the reply depends on the version alone.
_REQUESTS: Mapping[str, frozenset[str]] = {
    _CALL: frozenset({"name", "arguments"}),
    _HANDSHAKE: frozenset({"protocolVersion", "capabilities", "clientInfo"}),
    **dict.fromkeys(
        ("server/discover", "ping", "tools/list", "prompts/list", "resources/templates/list"), frozenset[str]()
    ),
}
_NOTIFICATIONS: Mapping[str, frozenset[str]] = {
    "notifications/initialized": frozenset(),
    "notifications/cancelled": frozenset({"requestId", "reason"}),
}
# Metadata of the protocol itself, of which the SDK knows the meaning, besides what every request of a version has.
_RESERVED = "io.modelcontextprotocol/"
_ENVELOPE = (types.PROTOCOL_VERSION_META_KEY, types.CLIENT_INFO_META_KEY, types.CLIENT_CAPABILITIES_META_KEY)


class PlainRequest(NamedTuple):
    """A request, and the id to answer it with; None if it is a notification."""

    id: int | str | None
    version: str
    method: str
    params: Mapping[str, Any]

    @property
    def client(self) -> str:
        info = self.params.get("_meta", {}).get(types.CLIENT_INFO_META_KEY) or {}
        return str(info.get("title") or info.get("name", ""))

    @property
    def reply_depends_on(self) -> tuple[str, str, str]:
        return self.version, self.method, self.params.get("protocolVersion", "")


class PlainRequests:
    """Answers plain requests to a server with some tools."""

    def __init__(self, call_tool: CallTool, tools: Collection[str]) -> None:
        self._call_tool, self._tools = call_tool, tools
        self._known_results: dict[tuple[str, str, str], bytes] = {}

    def parse(self, request: Request, body: bytes) -> PlainRequest | None:
        """The plain request that this body is; None if it is for the SDK to answer."""
        return parse_plain_request(request, body, self._tools)

    def can_answer(self, asked: PlainRequest) -> bool:
        """Whether the answer is known, or made here; the SDK gives the others once."""
        return asked.id is None or asked.method == _CALL or asked.reply_depends_on in self._known_results

    async def answer(self, request: Request, asked: PlainRequest) -> Response:
        if asked.id is None:
            return Response(status_code=202, headers={"Content-Type": _JSON})
        if asked.method == _CALL:
            params = types.CallToolRequestParams(name=asked.params["name"], arguments=asked.params.get("arguments", {}))
            called = await self._call_tool(PlainContext(request, asked.client), params)
            result = to_json(result_fields(called, asked.version))
        else:
            result = self._known_results[asked.reply_depends_on]
        return Response(_head(asked) + result + b"}", headers={"Content-Type": _JSON})

    def remember_answer(self, asked: PlainRequest, send: Send) -> Send:
        """Passes on what the SDK answers, and keeps the result for whoever asks next."""
        body, ok = bytearray(), False

        async def remembering(message: Message) -> None:
            nonlocal ok
            if message["type"] == "http.response.start":
                ok = message["status"] == 200
            else:
                body.extend(message.get("body", b""))
                head = _head(asked)
                if ok and not message.get("more_body") and body.startswith(head) and body.endswith(b"}"):
                    self._known_results[asked.reply_depends_on] = bytes(body[len(head) : -1])
            await send(message)

        return remembering


def _head(asked: PlainRequest) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + to_json(asked.id) + b',"result":'


def parse_plain_request(request: Request, body: bytes, tools: Collection[str]) -> PlainRequest | None:
    """The plain request that this is; None if it is anything else, or not sure to be one."""
    media = request.headers.get("content-type", "").partition(";")[0].strip()
    if media != _JSON or not check_accept_headers(request)[0]:
        return None
    try:
        message = from_json(body)
    except ValueError:
        return None
    if not _is_jsonrpc(message):
        return None
    method, params = message["method"], message.get("params", {})
    known = _REQUESTS.get(method) if "id" in message else _NOTIFICATIONS.get(method)
    if known is None or type(params) is not dict or not params.keys() <= {*known, "_meta"}:
        return None
    version = request.headers.get("mcp-protocol-version", types.DEFAULT_NEGOTIATED_VERSION)
    asked = PlainRequest(message.get("id"), version, method, params)
    return asked if _is_usual(asked, request, message) and _is_valid(asked, tools) else None


def _is_jsonrpc(message: Any) -> bool:
    """Whether it is one request or notification of JSON-RPC, and has no other fields."""
    if type(message) is not dict or message.get("jsonrpc") != "2.0" or type(message.get("method")) is not str:
        return False
    if "id" in message and type(message["id"]) not in (int, str):
        return False
    return message.keys() <= {"jsonrpc", "id", "method", "params"}


def _is_usual(asked: PlainRequest, request: Request, message: Mapping[str, Any]) -> bool:
    """Whether it says of its version what every request says, and no more."""
    meta = asked.params.get("_meta", {})
    if type(meta) is not dict:
        return False
    reserved = {name for name in meta if name.startswith(_RESERVED)}
    if asked.version in HANDSHAKE_PROTOCOL_VERSIONS:
        return not reserved
    headers = request.headers
    return (
        asked.version in MODERN_PROTOCOL_VERSIONS
        and asked.id is not None
        and reserved <= {*_ENVELOPE}
        and find_duplicated_routing_header(headers.items()) is None
        and not any(name.startswith(MCP_PARAM_HEADER_PREFIX.lower()) for name in headers)
        and not isinstance(classify_inbound_request(message, headers=headers), InboundLadderRejection)
    )


def _is_valid(asked: PlainRequest, tools: Collection[str]) -> bool:
    """Whether the SDK accepts its parameters, and the tool or the version that it names is there."""
    name, arguments = asked.params.get("name"), asked.params.get("arguments", {})
    if asked.method == _CALL and (type(name) is not str or name not in tools or type(arguments) is not dict):
        return False
    if asked.method == _HANDSHAKE and asked.params.get("protocolVersion") not in HANDSHAKE_PROTOCOL_VERSIONS:
        return False
    validate = validate_client_notification if asked.id is None else validate_client_request
    try:
        validate(asked.method, asked.version, asked.params)
    except (KeyError, ValueError):
        return False
    return True
