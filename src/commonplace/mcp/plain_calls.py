"""Plain calls of tools over HTTP, answered without a session of the SDK.

Over HTTP each request stands alone. For each the SDK makes a transport, four streams and three tasks, which costs more
than most tools take. A call of a known tool that says nothing but its name and arguments needs none of that, and gets
the same reply here. Everything else is left to the SDK: other methods and versions, and whatever is wrong or unusual.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import mcp_types as types
from mcp.server.streamable_http import check_accept_headers
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import from_json, to_json
from starlette.requests import Request
from starlette.responses import Response

_JSON = "application/json"
_CALL = "tools/call"
_MESSAGE = {"jsonrpc", "id", "method", "params"}
_PARAMS = {"name", "arguments", "_meta"}
# Metadata of the protocol itself, of which the SDK knows the meaning.
_RESERVED = "io.modelcontextprotocol/"


@dataclass(frozen=True, slots=True)
class HttpContext:
    """What is known of a call that came without a session: its request."""

    request: Request


class PlainCall(NamedTuple):
    """A call of a tool, and the id to answer it with."""

    id: int | str
    params: types.CallToolRequestParams


CallTool = Callable[[HttpContext, types.CallToolRequestParams], Awaitable[types.CallToolResult]]


class PlainCalls:
    """Answers plain calls of some tools."""

    def __init__(self, call_tool: CallTool, tools: Collection[str]) -> None:
        self._call_tool, self._tools = call_tool, tools

    def parse(self, request: Request, body: bytes) -> PlainCall | None:
        """The call that a request with this body is; None if it is for the SDK to answer."""
        return parse_plain_call(request, body, self._tools)

    async def answer(self, request: Request, call: PlainCall) -> Response:
        result = await self._call_tool(HttpContext(request), call.params)
        message = {"jsonrpc": "2.0", "id": call.id, "result": _fields(result)}
        return Response(to_json(message), headers={"Content-Type": _JSON})


def _fields(result: types.CallToolResult) -> dict[str, Any]:
    """A result as the SDK writes it, which is the same in every version that a plain call may have."""
    fields: dict[str, Any] = {} if result.meta is None else {"_meta": result.meta}
    content = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in result.content]
    fields["content"] = [dict(sorted(one.items())) for one in content]
    fields["isError"] = bool(result.is_error)
    if result.structured_content is not None:
        fields["structuredContent"] = result.structured_content
    return fields


def parse_plain_call(request: Request, body: bytes, tools: Collection[str]) -> PlainCall | None:
    """The call that a request is; None if it is anything else, or not sure to be one."""
    headers = request.headers
    version = headers.get("mcp-protocol-version", types.DEFAULT_NEGOTIATED_VERSION)
    if (
        version not in HANDSHAKE_PROTOCOL_VERSIONS
        or headers.get("content-type", "").partition(";")[0].strip() != _JSON
        or not check_accept_headers(request)[0]
    ):
        return None
    try:
        message = from_json(body)
    except ValueError:
        return None
    if not _is_object(message, _MESSAGE) or len(message) != len(_MESSAGE):
        return None
    id_, params = message["id"], message["params"]
    if message["jsonrpc"] != "2.0" or message["method"] != _CALL or type(id_) not in (int, str):
        return None
    if not _is_object(params, _PARAMS) or not _is_usual_meta(params.get("_meta", {})):
        return None
    name, arguments = params.get("name"), params.get("arguments", {})
    if type(name) is not str or name not in tools or type(arguments) is not dict:
        return None
    return PlainCall(id_, types.CallToolRequestParams(name=name, arguments=arguments))


def _is_object(value: Any, fields: set[str]) -> bool:
    return type(value) is dict and value.keys() <= fields


def _is_usual_meta(meta: Any) -> bool:
    """Whether metadata of a call may be ignored: nothing is told while a tool works."""
    if type(meta) is not dict or type(meta.get("progressToken", "")) not in (int, str):
        return False
    return not any(name.startswith(_RESERVED) for name in meta)
