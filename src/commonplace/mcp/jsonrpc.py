"""JSON-RPC over lines, whatever carries them: standard streams, the socket of the resident process, or a list.

The SDK's own transport drops an unreadable line, so that its sender waits until a timeout, and on the end of input it
cancels what is still being worked on, so that `printf ... | commonplace mcp` would go unanswered. It also reads lines
of any length, and makes objects of whatever they hold: `line_or_refusal` refuses those that would take too much memory.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_json

import commonplace
from commonplace.errors import CommonplaceError, TooLarge
from commonplace.text.untrusted_json import MAX_DEPTH, MAX_VALUES_OF_MANY, check_json

log = logging.getLogger(__name__)

SERVER_INFO = {"name": "commonplace", "title": "Commonplace", "version": commonplace.__version__}
LAST_WORDS_SECONDS = 5.0
# A line that was refused reaches the SDK as this and the answer to it: no JSON begins so.
_REFUSED = b"\0refused:"
# Bytes of a line that are parsed once more if the SDK cannot: that takes several times as much memory.
_READ_AGAIN = 1 << 20
_SKIPPED = 1 << 16
_FEW_BYTES = MAX_VALUES_OF_MANY // 2
# The id of a message as most clients write it: first, or last after the version.
_ID = rb'"id"\s*:\s*([0-9]{1,15}|"[^"\\]{1,100}")\s*'
_FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2[.]0"\s*,\s*)?' + _ID + rb"[,}]")
_LAST_ID = re.compile(rb'"jsonrpc"\s*:\s*"2[.]0"\s*,\s*' + _ID + rb"\}\s*\Z")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


CallTool = Callable[[Any, types.CallToolRequestParams], Awaitable[types.CallToolResult]]


class LineServer(NamedTuple):
    """A server of the SDK, and what answers the calls of its tools."""

    sdk: Server[Any]
    call_tool: CallTool
    tools: Collection[str]


async def serve_lines(
    server: LineServer, read_line: Callable[[], Awaitable[bytes]], write: Callable[[bytes], Awaitable[object]]
) -> None:
    """Answer the lines until an empty one is read, and what was asked until then."""
    async with anyio.create_task_group() as tasks:
        answers = OutgoingMessages(write)
        calls = PlainCalls(server, answers, tasks)
        await server.sdk.run(
            IncomingMessages(read_line, answers, calls), answers, server.sdk.create_initialization_options()
        )
        tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class PlainContext:
    """What is known of a call that the SDK did not see: its HTTP request, and what the client calls itself."""

    request: Any = None
    client: str = ""


def is_plain_call(version: str, method: str, params: Mapping[str, Any], tools: Collection[str]) -> bool:
    """Whether a request only names one of the tools and its arguments, so that the SDK has nothing to check in it."""
    name, meta = params.get("name"), params.get("_meta", {})
    return (
        method == "tools/call"
        and version in HANDSHAKE_PROTOCOL_VERSIONS
        and params.keys() <= {"name", "arguments", "_meta"}
        and type(name) is str
        and name in tools
        and type(params.get("arguments", {})) is dict
        and type(meta) is dict
        and meta.keys() <= {"progressToken"}
        and type(meta.get("progressToken", 0)) in (int, str)
    )


def result_fields(result: types.CallToolResult, version: str) -> dict[str, Any]:
    """A result as the SDK writes it."""
    modern = version in MODERN_PROTOCOL_VERSIONS
    meta = (result.meta or {}) | ({types.SERVER_INFO_META_KEY: SERVER_INFO} if modern else {})
    content = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in result.content]
    return {
        **({"_meta": meta} if meta else {}),
        "content": [dict(sorted(one.items())) for one in content],
        "isError": bool(result.is_error),
        **({"resultType": "complete"} if modern else {}),
        **({} if result.structured_content is None else {"structuredContent": result.structured_content}),
    }


class LineStreams:
    """Lines of a pair of streams that block; in place of one that is too large, the refusal to answer it with."""

    def __init__(self, reads: IO[bytes], writes: IO[bytes], max_bytes: int) -> None:
        self._reads, self._writes, self._most = reads, writes, max_bytes

    async def read(self) -> bytes:
        """The next line, empty at the end."""
        return await anyio.to_thread.run_sync(self._next)

    async def write(self, line: bytes) -> None:
        await anyio.to_thread.run_sync(self._write, line)

    def _next(self) -> bytes:
        line = self._reads.readline(self._most + 1)
        if len(line) > self._most:
            self._skip_rest(line)
        return line_or_refusal(line, self._most)

    def _skip_rest(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = self._reads.readline(_SKIPPED)

    def _write(self, line: bytes) -> None:
        self._writes.write(line)
        self._writes.flush()


def line_or_refusal(line: bytes, max_bytes: int) -> bytes:
    """The line, or in place of one that would take too much memory, the refusal to answer it with."""
    try:
        if len(line) > max_bytes:
            raise TooLarge(f"The message is longer than {max_bytes >> 20} MB.", "Send it in smaller parts.")
        check_message(line)
    except CommonplaceError as error:
        return _REFUSED + error_for_message(line, error).model_dump_json(by_alias=True).encode() + b"\n"
    return line


def check_message(raw: bytes) -> None:
    """Refuse a message that would become too many objects."""
    # Few bytes with few brackets, as of most calls, become few.
    if len(raw) > _FEW_BYTES or raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        check_json(raw, MAX_VALUES_OF_MANY, "The message")


def error_for_message(raw: bytes, error: CommonplaceError) -> types.JSONRPCError:
    """The answer to a message that was not parsed, for the request that it seems to be."""
    found = _FIRST_ID.match(raw, 0, 1000) or _LAST_ID.search(raw, max(0, len(raw) - 1000))
    data = {"code": error.code, "details": error.hint}
    code = types.INVALID_REQUEST if isinstance(error, TooLarge) else types.PARSE_ERROR
    shown = types.ErrorData(code=code, message=error.message, data=data)
    return types.JSONRPCError(jsonrpc="2.0", id=json.loads(found[1]) if found else None, error=shown)


class PlainCalls:
    """Calls of tools that are answered without the SDK, which spends as much time on one as many tools do.

    Only after the handshake, and not while the SDK has another request to answer: a later call must not overtake it.
    """

    def __init__(self, server: LineServer, answers: OutgoingMessages, tasks: TaskGroup) -> None:
        self._server, self._answers, self._tasks = server, answers, tasks
        self._version, self._context = "", PlainContext()
        self._scopes: dict[str, anyio.CancelScope] = {}

    def begin(self, message: types.JSONRPCMessage) -> bool:
        """Answer a message, if it is a plain call; what else it may be is for the SDK."""
        if isinstance(message, types.JSONRPCNotification):
            if message.method == "notifications/cancelled" and (
                scope := self._scopes.get(str((message.params or {}).get("requestId")))
            ):
                scope.cancel()
            return False
        if not isinstance(message, types.JSONRPCRequest):
            return False
        params = message.params or {}
        if message.method == "initialize":
            self._note_handshake(message.id, params)
        elif (
            self._version
            and self._answers.waiting <= len(self._scopes)
            and is_plain_call(self._version, message.method, params, self._server.tools)
        ):
            scope = self._scopes[str(message.id)] = anyio.CancelScope()
            self._answers.expect(message.id)
            named = types.CallToolRequestParams(name=params["name"], arguments=params.get("arguments", {}))
            self._tasks.start_soon(self._answer, message.id, named, scope)
            return True
        return False

    def _note_handshake(self, id_: int | str, params: Mapping[str, Any]) -> None:
        """From the SDK's answer on, its version of the protocol holds, and we know who calls."""
        info = params.get("clientInfo")
        client = str(info.get("title") or info.get("name", "")) if isinstance(info, dict) else ""

        def begin(result: Mapping[str, Any]) -> None:
            self._version, self._context = str(result.get("protocolVersion", "")), PlainContext(client=client)

        self._version = ""
        self._answers.when_answered(id_, begin)

    async def _answer(self, id_: int | str, params: types.CallToolRequestParams, scope: anyio.CancelScope) -> None:
        """Call the tool and send its result; nothing once the client cancelled the call."""
        with scope:
            try:
                result = to_json(result_fields(await self._server.call_tool(self._context, params), self._version))
            except Exception as error:
                log.exception("%s failed", params.name)
                failed = types.ErrorData(code=types.INTERNAL_ERROR, message=f"It failed: {type(error).__name__}.")
                await self._answers.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id_, error=failed)))
            else:
                # Whoever left reads nothing more.
                with contextlib.suppress(OSError):
                    await self._answers.write(b'{"jsonrpc":"2.0","id":%s,"result":%s}\n' % (to_json(id_), result))
        self._scopes.pop(str(id_), None)
        self._answers.settle(id_)


class _Stream:
    """One direction of the transport, as the SDK uses it. Whoever carries the lines closes them."""

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        pass


class OutgoingMessages(_Stream):
    """The way out. It knows which requests still wait for their answer."""

    def __init__(self, write: Callable[[bytes], Awaitable[object]]) -> None:
        self.write = write
        self._waiting: set[int | str] = set()
        self._settled = anyio.Event()
        self._awaited: dict[int | str, Callable[[Mapping[str, Any]], None]] = {}

    @property
    def waiting(self) -> int:
        """How many requests still wait."""
        return len(self._waiting)

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        await self.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
            tell = self._awaited.pop(message.id, None) if message.id is not None else None
            if tell is not None and isinstance(message, types.JSONRPCResponse):
                tell(message.result)
            self.settle(message.id)

    def when_answered(self, id_: int | str, tell: Callable[[Mapping[str, Any]], None]) -> None:
        """Tell the result of a request, once it is sent."""
        self._awaited[id_] = tell

    def expect(self, id_: int | str) -> None:
        self._waiting.add(id_)

    def settle(self, id_: int | str | None) -> None:
        self._waiting.discard(id_ if id_ is not None else "")
        if not self._waiting:
            self._settled.set()

    async def all_given(self) -> None:
        """Wait for the last answers, but not for ever."""
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            while self._waiting:
                self._settled = anyio.Event()
                await self._settled.wait()


class IncomingMessages(_Stream):
    """The way in: unreadable lines are mended or answered with an error, and the end comes after the last answer."""

    def __init__(self, read_line: Callable[[], Awaitable[bytes]], answers: OutgoingMessages, calls: PlainCalls) -> None:
        self._read_line, self._answers, self._calls = read_line, answers, calls

    async def receive(self) -> SessionMessage:
        while line := await self._read_line():
            message: types.JSONRPCMessage | None
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except Exception as failure:  # noqa: BLE001 - read again, or answered
                message = parse_again(failure)
                if isinstance(message, types.JSONRPCError):
                    await self._answers.send(SessionMessage(message))
                    continue
            if message is not None and not self._calls.begin(message):
                self._note(message)
                return SessionMessage(message)
        await self._answers.all_given()
        raise anyio.EndOfStream

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    def __aiter__(self) -> Self:
        return self

    def _note(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._answers.expect(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._answers.settle((message.params or {}).get("requestId"))


def parse_again(failure: Exception) -> types.JSONRPCMessage | None:
    """The message that an unreadable line stands for, the error to answer it with, or None for an empty line."""
    try:
        data = _read_again(failure)
    except (ValueError, RecursionError) as error:
        return _error(None, types.PARSE_ERROR, f"Not JSON: {error}")
    if isinstance(data, types.JSONRPCError):
        return data
    if data == "":
        return None
    try:
        message: types.JSONRPCMessage = types.jsonrpc_message_adapter.validate_python(_cleaned(data), by_name=False)
    except (ValidationError, RecursionError):
        id_ = data.get("id") if isinstance(data, dict) else None
        known = _cleaned(id_) if isinstance(id_, (int, str)) and not isinstance(id_, bool) else None
        return _error(known, types.INVALID_REQUEST, "Not a JSON-RPC 2.0 message.")
    return message


def _read_again(failure: Exception) -> Any:
    """The data of the line, read by a reader that lets halves of characters pass."""
    if not isinstance(failure, ValidationError):
        raise ValueError(type(failure).__name__)
    errors = failure.errors(include_url=False, include_context=False)
    given = [error["input"] for error in errors]
    line = given[0]
    if errors[0]["type"] == "json_invalid":
        raw = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        if raw.startswith(_REFUSED):
            return types.JSONRPCError.model_validate_json(raw.removeprefix(_REFUSED))
        if len(raw) > _READ_AGAIN:
            raise ValueError(errors[0]["msg"])
        return json.loads(raw.decode("utf-8", "replace")) if raw.strip() else ""
    # Of an object that is no message the errors name the parts; the whole is where something was missing.
    return next((part for part in given if isinstance(part, dict)), line)


def _cleaned(value: Any) -> Any:
    """Halves of characters, which no UTF-8 reply could carry, become the mark for an unknown one."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    return value


def _error(id_: int | str | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=id_, error=types.ErrorData(code=code, message=message))
