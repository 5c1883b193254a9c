"""The stdio transport: an editor starts us, speaks JSON-RPC on our standard streams, and closes them to end."""

from __future__ import annotations

import logging
import signal
import sys

import anyio
from mcp.server.stdio import stdio_server

from commonplace.config import Settings
from commonplace.mcp.lines import Answers, Questions
from commonplace.mcp.server import Workers, build
from commonplace.memory.book import open_book


def run(settings: Settings) -> None:
    """Serve until standard input closes. Standard output carries protocol only; all else goes to standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="commonplace: %(message)s")
    book = open_book(settings)
    try:
        server = build(book, settings.profile, Workers())
        book.meaning.start()

        async def serve() -> None:
            async with stdio_server() as (reading, writing):
                answers = Answers(writing)
                await server.run(Questions(reading, answers), answers, server.create_initialization_options())

        # Reading from a terminal cannot be interrupted, only ended; what was acknowledged is on the disk by then.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(serve)
    finally:
        book.close()
