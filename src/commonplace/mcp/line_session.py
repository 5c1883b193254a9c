"""A session of the protocol over lines of whatever carries them: the socket of the resident process, or a list."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from commonplace.mcp.jsonrpc import IncomingMessages, OutgoingMessages


async def serve_lines(
    server: Server[Any], read_line: Callable[[], Awaitable[bytes]], write: Callable[[bytes], Awaitable[object]]
) -> None:
    """Answer the lines until an empty one is read, and what was asked until then."""
    received, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, sent = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with received:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                while line := await read_line():
                    await received.send(_parse(line))

    async def write_out() -> None:
        async with sent:
            async for item in sent:
                await write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write_out)
        answers = OutgoingMessages(sending)
        await server.run(IncomingMessages(receiving, answers), answers, server.create_initialization_options())


def _parse(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except Exception as error:  # noqa: BLE001 - answered by IncomingMessages
        return error


async def replies_to(server: Server[Any], lines: Sequence[bytes]) -> list[bytes]:
    """What a client that sends these lines reads."""
    waiting, replies = iter(lines), []

    async def next_line() -> bytes:
        return next(waiting, b"")

    async def keep(line: bytes) -> None:
        replies.append(line)

    await serve_lines(server, next_line, keep)
    return replies
