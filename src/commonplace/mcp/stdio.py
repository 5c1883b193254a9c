"""The stdio transport: an editor starts us, speaks JSON-RPC on our standard streams, and closes them to end."""

from __future__ import annotations

import logging
import signal
import sys
from dataclasses import replace
from pathlib import Path

import anyio
from mcp.server.stdio import stdio_server

from commonplace.allocation import give_back
from commonplace.capture.hooks.beside import Draining
from commonplace.config import Settings
from commonplace.mcp.lines import Answers, Questions
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
            async with stdio_server() as (reading, writing):
                shelf.open_soon(OPEN_AFTER)
                answers = Answers(writing)
                await server.run(Questions(reading, answers), answers, server.create_initialization_options())

        # Reading from a terminal cannot be interrupted, only ended; what was acknowledged is on the disk by then.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(serve)
    finally:
        shelf.close()
