"""What the server of an editor, which is of the fast program, has done by the whole program."""

from __future__ import annotations

import os
from collections.abc import Mapping

from commonplace.cli.command import Call, report_failure
from commonplace.config import load
from commonplace.errors import CommonplaceError
from commonplace.mcp import server, stdio


def read_only_tools(profile: str) -> frozenset[str]:
    """The tools that change nothing."""
    return server.read_only_tools(profile)


def serve(options: Mapping[str, str | None], reads: int, writes: int) -> int:
    """Serve lines from one descriptor, and answer to another, until the first one ends; the exit code."""
    with os.fdopen(reads, "rb") as lines, os.fdopen(writes, "wb") as replies:
        try:
            stdio.run(load(options), (lines, replies))
        except CommonplaceError as error:
            return report_failure(error, Call(command="mcp"))
    return 0
