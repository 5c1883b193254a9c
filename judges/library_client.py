"""One client library against a running server, in the library's own environment: it imports nothing of ours.

`python library_client.py LIBRARY --stdio COMMAND...` or `LIBRARY --http URL KEY` connects, has the library convert
every tool for its model, and calls some of the converted tools the way strict clients do: with every argument there
is, null for what is left out. It prints what went wrong as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

Called = Callable[[dict[str, Any]], Awaitable[str]]
"""A converted tool: arguments in, the text of the reply out."""

DEADLINE = 120.0
# Every argument of the tool, and what its reply has to hold.
CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "add_memory",
        {
            "content": "The client library was here.", "type": "fact", "project_id": None, "tags": None, "paths": None,
            "category": None, "metadata": None,
        },
        "The client library was here.",
    ),
    (
        "get_context",
        {"project": None, "token_budget": None, "query": "library", "project_id": None, "limit": 5, "files": None},
        "The client library was here.",
    ),
    (
        "get_context",
        {"project": "p", "token_budget": 900, "query": "library", "project_id": "p", "limit": 5, "files": []},
        '"tokenBudget":900',
    ),
    ("search", {"query": "client library", "project": None, "limit": None}, "The client library was here."),
    ("recall", {"query": "client library", "limit": None, "minScore": None}, '"results"'),
    (
        "memory_store",
        {
            "label": "Said by a library", "folder": "/libraries", "importance_score": None,
            "messages": [{"role": "user", "content": "Hello", "timestamp": None, "metadata": None}],
        },
        '"status":"active"',
    ),
    ("memory_stats", {"folder": None}, '"total_conversations"'),
    ("fetch", {"id": "1"}, '"text"'),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Server:
    """Where the server is: a command that starts it, or an address and a key."""

    command: list[str] = field(default_factory=list)
    url: str = ""
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}


@dataclass(slots=True)
class Seen:
    """What was listed and converted, which calls were made, and what went wrong."""

    listed: list[str] = field(default_factory=list)
    converted: list[str] = field(default_factory=list)
    calls: int = 0
    failures: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def session_of(server: Server) -> AsyncIterator[Any]:
    """A session of the official SDK, of whichever version the library brought."""
    mcp: Any = importlib.import_module("mcp")
    async with contextlib.AsyncExitStack() as stack:
        if server.command:
            stdio: Any = importlib.import_module("mcp.client.stdio")
            printed = mcp.StdioServerParameters(
                command=server.command[0], args=server.command[1:], env=dict(os.environ)
            )
            streams = await stack.enter_async_context(stdio.stdio_client(printed))
        else:
            http: Any = importlib.import_module("mcp.client.streamable_http")
            client: Any = importlib.import_module("httpx2" if version("mcp") >= "2" else "httpx").AsyncClient
            plain = await stack.enter_async_context(client(headers=server.headers, timeout=DEADLINE))
            streams = await stack.enter_async_context(http.streamable_http_client(server.url, http_client=plain))
        session = await stack.enter_async_context(mcp.ClientSession(*streams[:2]))
        await session.initialize()
        yield session


def text_of(result: Any) -> str:
    """The text of a reply of the official SDK; an error is one here too."""
    text = "".join(getattr(block, "text", "") for block in result.content)
    if getattr(result, "is_error", getattr(result, "isError", False)):
        raise RuntimeError(text)
    return text


def through(session: Any, name: str) -> Called:
    async def call(arguments: dict[str, Any]) -> str:
        return text_of(await session.call_tool(name, arguments))

    return call


@contextlib.asynccontextmanager
async def google_genai(server: Server, seen: Seen) -> AsyncIterator[Mapping[str, Called]]:
    adapters: Any = importlib.import_module("google.genai._adapters")
    types: Any = importlib.import_module("google.genai.types")
    utils: Any = importlib.import_module("google.genai._mcp_utils")

    def calling(adapter: Any, name: str) -> Called:
        async def call(arguments: dict[str, Any]) -> str:
            return text_of(await adapter.call_tool(types.FunctionCall(name=name, args=arguments)))

        return call

    async with session_of(server) as session:
        listing = await session.list_tools()
        seen.listed = [tool.name for tool in listing.tools]
        adapter = adapters.McpToGenAiToolAdapter(session, listing)
        declared = [one for tool in adapter.tools for one in tool.function_declarations]
        for tool, one in zip(listing.tools, declared, strict=True):
            given = getattr(tool, "input_schema", None) or tool.inputSchema
            if set(one.parameters.properties) != set(given["properties"]):
                seen.failures.append(f"{one.name} lost arguments: {sorted(one.parameters.properties)}")
            if (one.parameters.required or []) != given.get("required", []):
                seen.failures.append(f"{one.name} requires {one.parameters.required}")
        # The other way that it declares tools, as JSON Schema.
        utils.mcp_to_gemini_tools(listing.tools, is_agent_platform=True)
        yield {one.name: calling(adapter, one.name) for one in declared}


@contextlib.asynccontextmanager
async def anthropic(server: Server, seen: Seen) -> AsyncIterator[Mapping[str, Called]]:
    lib: Any = importlib.import_module("anthropic.lib.tools.mcp")

    def calling(tool: Any) -> Called:
        async def call(arguments: dict[str, Any]) -> str:
            return "".join(block["text"] for block in await tool.call(arguments))

        return call

    async with session_of(server) as session:
        listing = await session.list_tools()
        seen.listed = [tool.name for tool in listing.tools]
        tools = [lib.async_mcp_tool(tool, session) for tool in listing.tools]
        for tool in tools:
            json.dumps(tool.to_dict())
        yield {tool.name: calling(tool) for tool in tools}


@contextlib.asynccontextmanager
async def openai_agents(server: Server, seen: Seen) -> AsyncIterator[Mapping[str, Called]]:
    agents: Any = importlib.import_module("agents")
    mcp: Any = importlib.import_module("agents.mcp")
    contexts: Any = importlib.import_module("agents.tool_context")
    if server.command:
        printed: dict[str, Any] = {"command": server.command[0], "args": server.command[1:], "env": dict(os.environ)}
        connection = mcp.MCPServerStdio(printed, client_session_timeout_seconds=DEADLINE)
    else:
        printed = {"url": server.url, "headers": server.headers, "timeout": DEADLINE}
        connection = mcp.MCPServerStreamableHttp(printed, client_session_timeout_seconds=DEADLINE)

    def calling(tool: Any) -> Called:
        async def call(arguments: dict[str, Any]) -> str:
            given = json.dumps(arguments)
            context = contexts.ToolContext(context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=given)
            content = await tool.on_invoke_tool(context, given)
            return content["text"] if isinstance(content, dict) else str(content)

        return call

    async with connection:
        seen.listed = [tool.name for tool in await connection.list_tools()]
        agent, context = agents.Agent(name="a"), agents.RunContextWrapper(None)
        found: dict[bool, list[Any]] = {}
        for strict in (False, True):
            found[strict] = await mcp.MCPUtil.get_function_tools(
                connection, strict, context, agent, failure_error_function=None
            )
        # An object of any shape (metadata) cannot be strict; the library then falls back for that tool.
        loose = {tool.name for tool in found[True] if not tool.strict_json_schema}
        if loose - {"add_memory", "edit_memory", "memory_store"}:
            seen.failures.append(f"not strict: {sorted(loose)}")
        yield {tool.name: calling(tool) for tool in found[True]}


@contextlib.asynccontextmanager
async def pydantic_ai(server: Server, seen: Seen) -> AsyncIterator[Mapping[str, Called]]:
    mcp: Any = importlib.import_module("pydantic_ai.mcp")
    openai: Any = importlib.import_module("pydantic_ai.profiles.openai")
    google: Any = importlib.import_module("pydantic_ai.profiles.google")
    async with fastmcp_client(server) as client, mcp.MCPToolset(client) as toolset:
        tools = await toolset.list_tools()
        seen.listed = [tool.name for tool in tools]
        for tool in tools:
            for transformer in (openai.OpenAIJsonSchemaTransformer, google.GoogleJsonSchemaTransformer):
                for strict in (False, True):
                    transformer(tool.input_schema, strict=strict).walk()

        def calling(name: str) -> Called:
            async def call(arguments: dict[str, Any]) -> str:
                content = await toolset.direct_call_tool(name, arguments)
                return content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))

            return call

        yield {tool.name: calling(tool.name) for tool in tools}


@contextlib.asynccontextmanager
async def fastmcp_client(server: Server) -> AsyncIterator[Any]:
    client: Any = importlib.import_module("fastmcp.client")
    ways: Any = importlib.import_module("fastmcp.client.transports")
    if server.command:
        way = ways.StdioTransport(server.command[0], server.command[1:], env=dict(os.environ))
    else:
        way = ways.StreamableHttpTransport(server.url, headers=server.headers)
    async with client.Client(way) as connected:
        yield connected


@contextlib.asynccontextmanager
async def fastmcp(server: Server, seen: Seen) -> AsyncIterator[Mapping[str, Called]]:
    async with fastmcp_client(server) as client:
        seen.listed = [tool.name for tool in await client.list_tools()]
        yield {name: through(client, name) for name in seen.listed}


@contextlib.asynccontextmanager
async def langchain(server: Server, seen: Seen) -> AsyncIterator[Mapping[str, Called]]:
    adapters: Any = importlib.import_module("langchain_mcp_adapters.tools")
    functions: Any = importlib.import_module("langchain_core.utils.function_calling")

    def calling(tool: Any) -> Called:
        async def call(arguments: dict[str, Any]) -> str:
            content = await tool.ainvoke(arguments)
            return content if isinstance(content, str) else "".join(block["text"] for block in content)

        return call

    async with session_of(server) as session:
        seen.listed = [tool.name for tool in (await session.list_tools()).tools]
        tools = await adapters.load_mcp_tools(session)
        for tool in tools:
            for strict in (None, True):
                functions.convert_to_openai_tool(tool, strict=strict)
        yield {tool.name: calling(tool) for tool in tools}


@contextlib.asynccontextmanager
async def llama_index(server: Server, seen: Seen) -> AsyncIterator[Mapping[str, Called]]:
    base: Any = importlib.import_module("llama_index.tools.mcp")

    def calling(tool: Any) -> Called:
        async def call(arguments: dict[str, Any]) -> str:
            return text_of((await tool.acall(**arguments)).raw_output)

        return call

    async with session_of(server) as session:
        seen.listed = [tool.name for tool in (await session.list_tools()).tools]
        tools = await base.McpToolSpec(session).to_tool_list_async()
        for tool in tools:
            tool.metadata.to_openai_tool()
        yield {tool.metadata.name: calling(tool) for tool in tools}


Library = Callable[[Server, Seen], contextlib.AbstractAsyncContextManager[Mapping[str, Called]]]
# By the name of the package that converts.
LIBRARIES: dict[str, Library] = {
    "google-genai": google_genai,
    "anthropic": anthropic,
    "openai-agents": openai_agents,
    "pydantic-ai-slim": pydantic_ai,
    "fastmcp-slim": fastmcp,
    "langchain-mcp-adapters": langchain,
    "llama-index-tools-mcp": llama_index,
}


async def tried(library: Library, server: Server) -> Seen:
    seen = Seen()
    async with library(server, seen) as tools:
        seen.converted = list(tools)
        if sorted(seen.converted) != sorted(seen.listed):
            seen.failures.append(f"converted {seen.converted}, not {seen.listed}")
        for name, arguments, wanted in CALLS:
            if name not in tools:
                continue
            seen.calls += 1
            try:
                content = await tools[name](arguments)
            except Exception as error:  # noqa: BLE001
                seen.failures.append(f"{name}: {type(error).__name__}: {error}"[:500])
            else:
                if wanted not in content:
                    seen.failures.append(f"{name} does not tell {wanted!r}: {content[:300]}")
    return seen


def main() -> int:
    name, way, *rest = sys.argv[1:]
    server = Server(command=rest) if way == "--stdio" else Server(url=rest[0], key=rest[1])
    seen = asyncio.run(asyncio.wait_for(tried(LIBRARIES[name], server), DEADLINE))
    printed = {
        "library": name, "version": version(name), "tools": len(seen.converted), "calls": seen.calls,
        "failures": seen.failures,
    }  # fmt: skip
    print(json.dumps(printed))
    return 1 if seen.failures else 0


if __name__ == "__main__":
    sys.exit(main())
