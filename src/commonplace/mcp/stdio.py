"""The stdio transport: an editor starts us, speaks JSON-RPC on our standard streams, and closes them to end."""

from __future__ import annotations

import logging
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import anyio
from mcp.server.stdio import stdio_server

from commonplace.capture.hooks.drain_inline import BackgroundDrain
from commonplace.config import Settings
from commonplace.malloc import trim
from commonplace.mcp.jsonrpc import BoundedLines, IncomingMessages, OutgoingMessages
from commonplace.mcp.server import build_server
from commonplace.memory.lazy_memory import LazyMemory
from commonplace.memory.projects import detect_known_project
from commonplace.worker_threads import Workers

# Seconds for the client's first questions, which need no store, before ours is opened unasked.
OPEN_AFTER = 1.0


def run(settings: Settings, streams: tuple[IO[bytes], IO[str]] | None = None) -> None:
    """Serve until standard input closes. Standard output carries protocol only; all else goes to standard error.

    `streams` are used in place of both, in a process that has other things to do.
    """
    trim()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="commonplace: %(message)s")
    if not settings.project:
        settings = replace(settings, project=detect_known_project(settings, Path.cwd()) or "")
    lazy_memory = LazyMemory(settings, tasks=(BackgroundDrain(),))
    try:
        server = build_server(lazy_memory.memory, settings.profile, Workers())

        async def serve() -> None:
            lines = BoundedLines(streams[0] if streams else _private_stdin(), settings.max_body_mb << 20)
            replies = anyio.wrap_file(streams[1]) if streams else None
            async with stdio_server(anyio.wrap_file(cast(Any, lines)), replies) as (reading, writing):
                lazy_memory.open_soon(OPEN_AFTER)
                answers = OutgoingMessages(writing)
                await server.run(IncomingMessages(reading, answers), answers, server.create_initialization_options())

        if streams is None:
            # Reading from a terminal cannot be interrupted, only ended; what was acknowledged is on the disk by then.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(serve)
    finally:
        lazy_memory.close()


def _private_stdin() -> IO[bytes]:
    """Standard input for us alone: whatever else reads it, such as a process that we start, finds it empty.

    The SDK does the same, but only for an input that it reads itself.
    """
    if sys.platform == "win32":
        return sys.stdin.buffer
    private, empty = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    # A thread may still wait for a line when we end, and its descriptor must not become another file's.
    return os.fdopen(private, "rb", closefd=False)
