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

from commonplace.allocation import give_back
from commonplace.capture.hooks.beside import Draining
from commonplace.config import Settings
from commonplace.mcp.lines import Answers, BoundedLines, Questions
from commonplace.mcp.server import build
from commonplace.memory.shelf import Shelf
from commonplace.memory.whereabouts import project_at
from commonplace.workers import Workers

# Seconds for the client's first questions, which need no store, before ours is opened unasked.
OPEN_AFTER = 1.0


def run(settings: Settings) -> None:
    """Serve until standard input closes. Standard output carries protocol only; all else goes to standard error."""
    give_back()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="commonplace: %(message)s")
    if not settings.project:
        settings = replace(settings, project=project_at(settings, Path.cwd()) or "")
    shelf = Shelf(settings, tasks=(Draining(),))
    try:
        server = build(shelf.book, settings.profile, Workers())

        async def serve() -> None:
            asked = BoundedLines(_private_stdin(), settings.max_body_mb << 20)
            async with stdio_server(anyio.wrap_file(cast(Any, asked))) as (reading, writing):
                shelf.open_soon(OPEN_AFTER)
                answers = Answers(writing)
                await server.run(Questions(reading, answers), answers, server.create_initialization_options())

        # Reading from a terminal cannot be interrupted, only ended; what was acknowledged is on the disk by then.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(serve)
    finally:
        shelf.close()


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
