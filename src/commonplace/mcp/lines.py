"""What the SDK's stdio transport leaves undone: answers to lines it cannot read, and to the last ones before the end.

It drops an unreadable line, so that its sender waits until a timeout, and on the end of input it cancels what is still
being worked on, so that `printf ... | commonplace mcp` would go unanswered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

LAST_WORDS_SECONDS = 5.0

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class _Stream:
    """One direction of the transport; what is not overridden goes to the SDK's own stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        ended: bool | None = await self._stream.__aexit__(kind, error, trace)
        return ended


class Answers(_Stream):
    """The way out. It knows which requests still wait for their answer."""

    def __init__(self, writing: Any) -> None:
        super().__init__(writing)
        self._waiting: set[int | str] = set()
        self._settled = anyio.Event()

    async def send(self, item: SessionMessage, /) -> None:
        await self._stream.send(item)
        if isinstance(item.message, (types.JSONRPCResponse, types.JSONRPCError)):
            self.settle(item.message.id)

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


class Questions(_Stream):
    """The way in: unreadable lines are mended or answered with an error, and the end comes after the last answer."""

    def __init__(self, reading: Any, answers: Answers) -> None:
        super().__init__(reading)
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """What the SDK wants to know of the sender."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return await self._next(self._stream.receive)

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._next(self._stream.__anext__)

    def __aiter__(self) -> Self:
        return self

    async def _next(self, take: Callable[[], Awaitable[SessionMessage | Exception]]) -> SessionMessage | Exception:
        while True:
            try:
                item = await take()
            except (StopAsyncIteration, anyio.EndOfStream):
                await self._answers.all_given()
                raise
            message = item.message if isinstance(item, SessionMessage) else mended(item)
            if isinstance(item, Exception) and isinstance(message, types.JSONRPCError):
                await self._answers.send(SessionMessage(message))
            elif message is not None:
                self._note(message)
                return item if isinstance(item, SessionMessage) else SessionMessage(message)

    def _note(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._answers.expect(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._answers.settle((message.params or {}).get("requestId"))


def mended(failure: Exception) -> types.JSONRPCMessage | None:
    """The message that an unreadable line stands for, the error to answer it with, or None for an empty line."""
    try:
        data = _read_again(failure)
    except (ValueError, RecursionError) as error:
        return _error(None, types.PARSE_ERROR, f"Not JSON: {error}")
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
    given = [error["input"] for error in failure.errors(include_url=False, include_context=False)]
    line = given[0]
    if failure.errors(include_url=False)[0]["type"] == "json_invalid":
        return json.loads(line) if line.strip() else ""
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
