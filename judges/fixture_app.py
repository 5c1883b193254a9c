"""A server for the conformance suite alone: the site, the guard and the protocol of the product, and fixtures as tools.

The suite asks for tools, resources and prompts of its own, which a product has no reason to have.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from tests.rest.conftest import DEADLINE, Running

from commonplace.config import Settings
from commonplace.http_server.application import application
from commonplace.mcp.http import McpRoutes, routes_for_servers
from commonplace.memory import api_keys
from commonplace.memory.local_memory import open_memory
from commonplace.worker_threads import Workers
from judges.fixture_rounds import next_round
from judges.fixture_tools import PICTURE, TOOLS, declared, embedded, picture, text

NAME = "commonplace-fixtures"
HINT = CacheHint(ttl_ms=60_000, scope="private")
_TEMPLATE = re.compile(r"test://template/([^/]+)/data")
_Context = ServerRequestContext[Any]

PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PICTURE},
}


async def _list_tools(_context: _Context, _params: object) -> types.ListToolsResult:
    listed = [
        {"name": tool.name, "description": "For the suite.", "inputSchema": tool.schema} for tool in TOOLS.values()
    ]
    return types.ListToolsResult.model_validate({"tools": listed})


async def _call_tool(
    context: _Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return tool.answer(params, declared(context.meta))


async def _list_resources(_context: _Context, _params: object) -> types.ListResourcesResult:
    listed = [{"name": uri, "uri": uri, "mimeType": output["mimeType"]} for uri, output in RESOURCES.items()]
    return types.ListResourcesResult.model_validate({"resources": listed})


async def _list_templates(_context: _Context, _params: object) -> types.ListResourceTemplatesResult:
    template = {"name": "data", "uriTemplate": "test://template/{id}/data", "mimeType": "application/json"}
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": [template]})


async def _read(_context: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    output = RESOURCES.get(uri)
    if match := _TEMPLATE.fullmatch(uri):
        data = {"id": match[1], "templateTest": True, "data": f"Data for ID: {match[1]}"}
        output = {"mimeType": "application/json", "text": json.dumps(data)}
    if output is None:
        raise MCPError(types.INVALID_PARAMS, f"Resource not found: {uri}", {"uri": uri})
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **output}]})


async def _list_prompts(_context: _Context, _params: object) -> types.ListPromptsResult:
    listed = [
        {
            "name": name,
            "description": "For the suite.",
            "arguments": [{"name": argument, "required": True} for argument in arguments],
        }
        for name, arguments in PROMPTS.items()
    ]
    return types.ListPromptsResult.model_validate({"prompts": listed})


async def _get_prompt(
    context: _Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    blocks = {
        "test_simple_prompt": lambda: [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": lambda: [
            text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        ],
        "test_prompt_with_embedded_resource": lambda: [
            embedded(given["resourceUri"], "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": lambda: [picture(), text("Please analyze the image above.")],
        "test_input_required_result_prompt": lambda: [text("Thanks for the context.")],
    }
    if params.name not in blocks:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    if params.name == "test_input_required_result_prompt":
        request = next_round(params.name, params.input_responses, params.request_state, declared(context.meta))
        if request is not None:
            return request
    messages = [{"role": "user", "content": block} for block in blocks[params.name]()]
    return types.GetPromptResult.model_validate({"messages": messages})


async def _complete(_context: _Context, _params: object) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["test"], total=1, has_more=False))


def fixtures(settings: Settings, _workers: Workers) -> McpRoutes:
    """The fixtures where the product has its tools."""
    server: Server[Any] = Server(
        NAME,
        version="1",
        cache_hints=dict.fromkeys(("tools/list", "prompts/list", "resources/list", "resources/templates/list"), HINT),
        get_tool_input_schema=lambda name: dict(TOOLS[name].schema) if name in TOOLS else None,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return routes_for_servers({"all": (server, None)}, "all", settings)


@contextlib.contextmanager
def fixture_site(settings: Settings) -> Iterator[tuple[int, str]]:
    """The port of a running site with the fixtures, and a key to it."""
    memory = open_memory(settings)
    _key, secret = api_keys.create_key(memory, "judge", "admin")
    app = application(lambda: memory, settings, agents_of=fixtures)
    server = Running(uvicorn.Config(app, port=0, log_level="error", ws="none", timeout_graceful_shutdown=5))
    server.ready = threading.Event()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server.ready.wait(DEADLINE)
    try:
        yield server.servers[0].sockets[0].getsockname()[1], secret
    finally:
        server.should_exit = True
        thread.join(DEADLINE)
        memory.close()
