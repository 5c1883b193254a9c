"""A session of the protocol over lines of whatever carries them: the socket of the resident process, or a list."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

import commonplace
from commonplace.errors import StoreError
from commonplace.mcp.jsonrpc import IncomingMessages, OutgoingMessages
from commonplace.mcp.server import build_server
from commonplace.memory.local_memory import LocalMemory
from commonplace.worker_threads import Workers

_LISTS = ("tools/list", "prompts/list", "resources/templates/list")
_PREFIX = "io.modelcontextprotocol/"


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


async def static_replies(profile: str, workers: Workers) -> dict[str, list[tuple[str, bytes]]]:
    """By version of the protocol, the methods whose reply depends on the profile alone, and their results as JSON."""
    return {
        version: await _static_replies(profile, workers, version)
        for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
    }


async def _static_replies(profile: str, workers: Workers, version: str) -> list[tuple[str, bytes]]:
    client = {"name": "commonplace", "version": commonplace.__version__}
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        first, params = "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        others: dict[str, Any] = {}
    else:
        handshake = {"protocolVersion": version, "clientInfo": client, "clientCapabilities": {}}
        first, params = "server/discover", {"_meta": {f"{_PREFIX}{name}": value for name, value in handshake.items()}}
        others = params
    requests = [{"id": first, "method": first, "params": params}]
    if first == "initialize":
        requests.append({"method": "notifications/initialized"})
    requests += [{"id": method, "method": method, "params": others} for method in _LISTS]
    lines = [json.dumps({"jsonrpc": "2.0", **request}).encode() for request in requests]
    found = []
    for reply in await replies_to(build_server(_no_memory, profile, workers), lines):
        method = str(json.loads(reply)["id"])
        head, tail = f'{{"jsonrpc":"2.0","id":"{method}","result":'.encode(), b"}\n"
        if reply.startswith(head) and reply.endswith(tail):
            found.append((method, reply.removeprefix(head).removesuffix(tail)))
    return found


def _no_memory() -> LocalMemory:
    raise StoreError("Lists need no memory.")
