"""The stdio transport: an editor starts us, speaks JSON-RPC on our standard streams, and closes them to end.

What it can be told without a memory (`static_replies`) depends on the profile and the window's project, and can be
prepared.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import anyio
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

import commonplace
from commonplace.capture.hooks.drain_inline import BackgroundDrain
from commonplace.config import Settings
from commonplace.errors import StoreError
from commonplace.malloc import collect_seldom, trim
from commonplace.mcp.jsonrpc import LineServer, LineStreams, serve_lines
from commonplace.mcp.server import build_server
from commonplace.memory.background_tasks import BackgroundTasks
from commonplace.memory.local_memory import LazyMemory, LocalMemory
from commonplace.memory.projects import detect_known_project
from commonplace.worker_threads import Workers

# Seconds for the client's first questions, which need no store, before ours is opened unasked.
OPEN_AFTER = 1.0
_LISTS = ("tools/list", "prompts/list", "resources/templates/list")
_PREFIX = "io.modelcontextprotocol/"


def run(settings: Settings, streams: tuple[IO[bytes], IO[bytes]] | None = None) -> None:
    """Serve until standard input closes. Standard output carries protocol only; all else goes to standard error.

    `streams` are used in place of both, in a process that has other things to do.
    """
    trim()
    collect_seldom()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="commonplace: %(message)s")
    if not settings.project:
        settings = replace(settings, project=detect_known_project(settings, Path.cwd()) or "")
    lazy_memory = LazyMemory(settings, background=BackgroundTasks((BackgroundDrain(),)))
    try:
        server = build_server(lazy_memory.memory, settings.profile, Workers(), project=settings.project)
        lines = LineStreams(*(streams or _private_streams()), settings.max_body_mb << 20)
        if streams is None:
            # Reading from a terminal cannot be interrupted, only ended; what was acknowledged is on the disk by then.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        lazy_memory.open_soon(OPEN_AFTER)
        anyio.run(serve_lines, server, lines.read, lines.write)
    finally:
        lazy_memory.close()


def _private_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for us alone.

    Whatever else uses them, such as a process that we start, reads nothing, and writes to standard error.
    """
    if sys.platform == "win32":
        return sys.stdin.buffer, sys.stdout.buffer
    private_in, private_out, null = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        # There is no standard error.
        os.dup2(null, 1)
    os.close(null)
    # A thread may still wait for a line when we end, and its descriptor must not become another file's.
    return os.fdopen(private_in, "rb", closefd=False), os.fdopen(private_out, "wb", closefd=False)


async def replies_to(server: LineServer, lines: Sequence[bytes]) -> list[bytes]:
    """What a client that sends these lines reads."""
    waiting, replies = iter(lines), []

    async def next_line() -> bytes:
        return next(waiting, b"")

    async def keep(line: bytes) -> None:
        replies.append(line)

    await serve_lines(server, next_line, keep)
    return replies


async def static_replies(
    profile: str, workers: Workers, project: str = "", lists: Sequence[str] = _LISTS
) -> dict[str, list[tuple[str, bytes]]]:
    """By version of the protocol, the methods whose reply needs no memory, and their results as JSON.

    Lists depend on the profile alone; the answer to the handshake names the project of the window too.
    """
    return {
        version: await _static_replies(profile, workers, version, project, lists)
        for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
    }


async def _static_replies(
    profile: str, workers: Workers, version: str, project: str, lists: Sequence[str]
) -> list[tuple[str, bytes]]:
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
    requests += [{"id": method, "method": method, "params": others} for method in lists]
    lines = [json.dumps({"jsonrpc": "2.0", **request}).encode() for request in requests]
    found = []
    for reply in await replies_to(build_server(_no_memory, profile, workers, project=project), lines):
        method = str(json.loads(reply)["id"])
        head, tail = f'{{"jsonrpc":"2.0","id":"{method}","result":'.encode(), b"}\n"
        if reply.startswith(head) and reply.endswith(tail):
            found.append((method, reply.removeprefix(head).removesuffix(tail)))
    return found


def _no_memory() -> LocalMemory:
    raise StoreError("Lists need no memory.")
