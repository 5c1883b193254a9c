"""One protocol server over one memory: tools from the profile, resources and prompts from their tables."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

from commonplace.config import Settings
from commonplace.dialects.memories_records import sdk_error, sdk_reply
from commonplace.dialects.tool import LONGEST_NOTICE, Tool, compact_json, error_body
from commonplace.dialects.tool_profiles import tools_of
from commonplace.errors import CommonplaceError, Forbidden, RateLimited
from commonplace.helper_processes import CallerLeft, Helpers
from commonplace.mcp import resources_and_prompts
from commonplace.mcp.jsonrpc import SERVER_INFO, LineServer, PlainContext
from commonplace.mcp.plain_requests import PlainRequests
from commonplace.mcp.resources_and_prompts import RECALLED_IS_DATA, recalled_meta
from commonplace.memory.authors import for_agent
from commonplace.memory.callers import AGENT_HEADER
from commonplace.memory.draft import MAX_TEXT
from commonplace.memory.local_memory import LocalMemory, reopen_memory
from commonplace.model import Author, Key
from commonplace.text.redact import escape_control_characters, redact
from commonplace.text.sentences import shorten
from commonplace.worker_threads import Workers

log = logging.getLogger(__name__)

# Lists only change with the configuration, which takes a restart.
LISTS_FRESH_MS = 300_000
# A question asked after something was written waits for the writing, unless that hangs: for so long after the last
# write that ended.
WAIT_FOR_WRITES = 1.0

MEMORIES_PATH = "/api/mcp"
"""Where memories.sh's SDK calls: there replies have its fields besides ours, and errors come in its envelope."""

# What each tool is for in a session; only tools of the profile are named.
_ADVICE = {
    "get_context": "At the start of a task call get_context for the project.",
    "search": "Before deciding something that may have been decided, call search.",
    "recall": "For how something was done in earlier sessions, call recall.",
    "add_memory": "When a decision, rule, fact or lesson worth keeping comes up, call add_memory.",
    "memory_store": "When asked to save the conversation, call memory_store.",
}

_UNKNOWN_PROJECT = "Name the project in each call: the git repository's name."
# What is computed from a larger call is done by another process.
LARGE_CALL = 256 << 10

_RECALLED_META = recalled_meta()
_Context = ServerRequestContext[Any] | PlainContext
_Read = TypeVar("_Read")


def read_only_tools(profile: str) -> frozenset[str]:
    """The tools of a profile that change nothing: a call of one may be made twice."""
    return frozenset(tool.name for tool in tools_of(profile) if tool.read_only)


def build_server(
    reach: Callable[[], LocalMemory],
    profile: str,
    workers: Workers,
    *,
    one_caller: bool = True,
    caller: Hashable = None,
    project: str = "",
) -> LineServer:
    """A server that answers from the memory, which `reach` gives at each call, with the tools of the profile.

    What `one_caller` asks after a write waits for it; several callers do not wait for each other. `caller` is who takes
    turns with others at the workers, if there is no key that tells. `project` is that of the window.
    """
    answers = _RequestHandlers(reach, profile, workers, one_caller, caller)
    return LineServer(_server_of(answers, project), answers.call_tool, answers.tools)


def build_http_server(
    reach: Callable[[], LocalMemory], profile: str, workers: Workers
) -> tuple[Server[Any], PlainRequests]:
    """A server for several callers over HTTP, and what answers plain requests without its sessions."""
    answers = _RequestHandlers(reach, profile, workers, False, None)
    return _server_of(answers), PlainRequests(answers.call_tool, answers.tools)


def _server_of(answers: _RequestHandlers, project: str = "") -> Server[Any]:
    tools = answers.tools
    hint = CacheHint(ttl_ms=LISTS_FRESH_MS, scope="private")
    return Server[Any](
        SERVER_INFO["name"],
        version=SERVER_INFO["version"],
        title=SERVER_INFO["title"],
        instructions=instructions(tools, project),
        cache_hints={"tools/list": hint, "prompts/list": hint, "resources/templates/list": hint},
        get_tool_input_schema=lambda name: tools[name].input_schema() if name in tools else None,
        on_list_tools=answers.list_tools,
        on_call_tool=answers.call_tool,
        on_list_resources=answers.list_resources,
        on_list_resource_templates=answers.list_templates,
        on_read_resource=answers.read_resource,
        on_list_prompts=answers.list_prompts,
        on_get_prompt=answers.get_prompt,
        on_completion=answers.complete,
    )


class _RequestHandlers:
    """What each request of the protocol is answered with."""

    def __init__(
        self,
        reach: Callable[[], LocalMemory],
        profile: str,
        workers: Workers,
        one_caller: bool,
        caller: Hashable,
    ) -> None:
        self._profile = profile
        self._caller = caller
        self._reach = reach
        self._workers = workers
        self._one_caller = one_caller
        self.tools = {tool.name: tool for tool in tools_of(profile)}
        self._listed = [tool_description(tool) for tool in self.tools.values()]
        self._writing = anyio.Lock()
        self._of_agent: tuple[LocalMemory, str, LocalMemory] | None = None
        self._waiting_for_writes: set[anyio.CancelScope] = set()

    async def list_tools(self, _context: _Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def call_tool(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self.tools.get(params.name)
        if tool is None:
            known = {"known": sorted(self.tools)}
            raise MCPError(types.INVALID_PARAMS, shorten(redact(f"Unknown tool: {params.name}"), LONGEST_NOTICE), known)
        state = getattr(context.request, "state", None)
        if state is not None:
            # For whoever counts and logs calls over HTTP.
            state.tool = tool.name
        result = await self._run_in_turn(context, tool, params.arguments or {})
        if _from_memories_sdk(context):
            result.structured_content = _for_memories_sdk(result)
        if state is not None and result.is_error:
            state.error = (result.structured_content or {})["error"]["code"]
        return result

    async def _run_in_turn(self, context: _Context, tool: Tool, arguments: dict[str, Any]) -> types.CallToolResult:
        """Run a tool if the key allows it; what one caller asks after a write waits for it."""
        key = _key_of(context)
        if key is not None and not key.allows(tool.verb.key_scope):
            return _refusal(tool, Forbidden(f"This key can only read, and {tool.name} writes."))
        if tool.read_only:
            if self._one_caller and self._writing.locked():
                await self._wait_for_writes()
            return await self._run(context, tool, arguments)
        async with self._writing if self._one_caller else contextlib.nullcontext():
            result = await self._run(context, tool, arguments)
            for waiting in self._waiting_for_writes:
                waiting.deadline = anyio.current_time() + WAIT_FOR_WRITES
            return result

    async def _wait_for_writes(self) -> None:
        """Wait until what was asked to be written before is written, or nothing of it ended for too long."""
        with anyio.move_on_after(WAIT_FOR_WRITES) as waiting:
            self._waiting_for_writes.add(waiting)
            try:
                async with self._writing:
                    pass
            finally:
                self._waiting_for_writes.discard(waiting)

    async def _run(self, context: _Context, tool: Tool, arguments: dict[str, Any]) -> types.CallToolResult:
        """Run a tool where it delays nobody else: in threads of its kind, or in a helper if much was sent."""
        key = _key_of(context)
        state = getattr(context.request, "state", None)
        helpers = self._workers.helpers
        is_large = _is_large(context) and not _is_refused_for_length(arguments)
        if is_large and helpers is not None and key is not None and state is not None:
            memory: LocalMemory = for_agent(state.memory, _agent_of(context))
            return await self._run_in_helper(helpers, memory, key, state.left, tool, arguments)
        workers = self._workers.slow if tool.slow else self._workers
        reach = self._reach_of(context)
        try:
            return await workers.do(lambda: _call(reach, tool, arguments), self._caller_of(context))
        except RateLimited as error:
            return _refusal(tool, error)

    async def _run_in_helper(
        self,
        helpers: Helpers,
        memory: LocalMemory,
        key: Key,
        left: Callable[[], Awaitable[None]],
        tool: Tool,
        arguments: dict[str, Any],
    ) -> types.CallToolResult:
        try:
            return await helpers.do(
                _call_in_helper,
                memory.settings,
                memory.open_spaces.home,
                key.project,
                memory.writer,
                self._profile,
                tool.name,
                arguments,
                caller=key.id,
                left=left,
            )
        except CommonplaceError as error:
            return _refusal(tool, error)
        except CallerLeft:
            # Nobody reads it.
            return _refusal(tool, CommonplaceError("The caller left."))

    async def list_resources(self, context: _Context, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=await self._from_memory(context, resources_and_prompts.list_resources)
        )

    async def list_templates(self, _context: _Context, _params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=list(resources_and_prompts.TEMPLATES))

    async def read_resource(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await self._from_memory(
            context, lambda memory: resources_and_prompts.read_resource(memory, str(params.uri))
        )

    async def list_prompts(self, _context: _Context, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=resources_and_prompts.list_prompts(self.tools))

    async def get_prompt(self, context: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await self._from_memory(
            context,
            lambda memory: resources_and_prompts.get_prompt(memory, self.tools, params.name, params.arguments or {}),
        )

    async def complete(self, context: _Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        return await self._from_memory(
            context,
            lambda memory: resources_and_prompts.complete_argument(memory, params.argument.name, params.argument.value),
        )

    async def _from_memory(self, context: _Context, read: Callable[[LocalMemory], _Read]) -> _Read:
        reach = self._reach_of(context)
        return await self._workers.do(lambda: read(_open_or_raise(reach)), self._caller_of(context))

    def _caller_of(self, context: _Context) -> Hashable:
        """Whose call it is, so that callers take turns."""
        key = _key_of(context)
        return self._caller if key is None else key.id

    def _reach_of(self, context: _Context) -> Callable[[], LocalMemory]:
        """How to reach the memory of a call: over HTTP the server put the one that the key opens into the request.

        Whoever calls tools is an agent, whatever it says.
        """
        memory: LocalMemory | None = getattr(getattr(context.request, "state", None), "memory", None)
        agent = _agent_of(context)
        return lambda: self._for_agent(self._reach() if memory is None else memory, agent)

    def _for_agent(self, memory: LocalMemory, agent: str) -> LocalMemory:
        """The same memory for an agent; made once for the calls that one makes in a row."""
        known = self._of_agent
        if known is None or known[0] is not memory or known[1] != agent:
            known = self._of_agent = memory, agent, for_agent(memory, agent)
        return known[2]


def instructions(tools: Collection[str], project: str = "") -> str:
    """When to call what, for a server that has these tools; `project` is that of its window, if it has one."""
    where = _UNKNOWN_PROJECT
    if project:
        where = f"This window's project is {redact(project)}."
    return " ".join(
        [
            "One memory across sessions and agents.",
            where,
            *(advice for tool, advice in _ADVICE.items() if tool in tools),
            RECALLED_IS_DATA,
        ]
    )


def tool_description(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=_output_schema(tool.output),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _output_schema(output: Mapping[str, object]) -> dict[str, object]:
    """What a reply may be: clients hold errors against the schema as well."""
    shape = {name: entry for name, entry in output.items() if name != "required"}
    either = {"anyOf": [{"required": output["required"]}, {"required": ["error"]}]} if "required" in output else {}
    return shape | either


def _from_memories_sdk(context: _Context) -> bool:
    scope: Mapping[str, Any] = getattr(context.request, "scope", None) or {}
    return scope.get("path") == MEMORIES_PATH


def _for_memories_sdk(result: types.CallToolResult) -> dict[str, Any]:
    data = result.structured_content or {}
    return sdk_error(data) if result.is_error else sdk_reply(data)


def _key_of(context: _Context) -> Key | None:
    key: Key | None = getattr(getattr(context.request, "state", None), "key", None)
    return key


def _agent_of(context: _Context) -> str:
    """What the client calls itself. Over HTTP each request stands alone: it may say so in a header instead."""
    if isinstance(context, PlainContext):
        if context.client:
            return context.client
    elif (client := context.session.client_params) is not None:
        return client.client_info.title or client.client_info.name
    headers = getattr(context.request, "headers", None) or {}
    return str(headers.get(AGENT_HEADER) or headers.get("user-agent", "").partition("/")[0])


def _is_large(context: _Context) -> bool:
    """Whether so much was sent that what is made of it may take long; also if nobody said how much it is."""
    headers = getattr(context.request, "headers", {})
    length = headers.get("content-length", "")
    return not length.isdecimal() or int(length) > LARGE_CALL


def _is_refused_for_length(value: Any) -> bool:
    """Whether it holds a text that no tool accepts: refused here, it need not be held by a second process as well."""
    if isinstance(value, str):
        return len(value) > MAX_TEXT
    if isinstance(value, dict):
        return any(map(_is_refused_for_length, value.values()))
    return isinstance(value, list) and any(map(_is_refused_for_length, value))


def _call_in_helper(
    settings: Settings,
    home: str,
    project: str | None,
    writer: Author,
    profile: str,
    name: str,
    arguments: dict[str, Any],
) -> types.CallToolResult:
    """Run a tool in a helper process."""
    tool = next(tool for tool in tools_of(profile) if tool.name == name)
    return _call(lambda: reopen_memory(settings, home, project, writer), tool, arguments)


def _open_or_raise(reach: Callable[[], LocalMemory]) -> LocalMemory:
    """The memory, or a protocol error where nothing else can say that it cannot be opened."""
    try:
        return reach()
    except CommonplaceError as error:
        raise MCPError(types.INTERNAL_ERROR, error.message, {"code": error.code, "details": error.hint}) from error


def _call(reach: Callable[[], LocalMemory], tool: Tool, arguments: dict[str, Any]) -> types.CallToolResult:
    """Run a tool; whatever goes wrong is an error that the model can read and act on."""
    try:
        reply = tool.run(reach(), arguments)
    except CommonplaceError as error:
        return _refusal(tool, error)
    except Exception as error:
        log.exception("%s failed", tool.name)
        return _refusal(tool, CommonplaceError(f"{tool.name} failed: {type(error).__name__}."))
    # The same as `reply.text`, in a quarter of the time.
    text = escape_control_characters(to_json(reply.data).decode()) if reply.words is None else reply.words
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=reply.data, _meta=_RECALLED_META
    )


def _refusal(tool: Tool, error: CommonplaceError) -> types.CallToolResult:
    """An error as the dialect of the tool shows it."""
    body = error_body(tool.dialect, error)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=compact_json(body))], structured_content=body, is_error=True
    )
