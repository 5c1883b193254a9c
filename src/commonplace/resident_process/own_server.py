"""The server that the front of a window runs in its own process if it cannot have the resident one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from threading import Thread

from commonplace.cli.command import Call, report_failure
from commonplace.config import load
from commonplace.errors import CommonplaceError
from commonplace.resident_process.link import Link


class OwnServer:
    """A server in a thread, with pipes for its streams."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name: value or None for name, value in options.items()}

    def private_streams(self, stdin: int) -> tuple[int, int]:
        """The streams of the editor for the front alone: what else runs in this process must not use them."""
        if stdin != 0 or sys.platform == "win32":
            return stdin, 1
        private_in, private_out, null = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2 if _is_open(2) else null, 1)
        os.close(null)
        return private_in, private_out

    def start(self, ended: Callable[[int], object]) -> Link:
        """Start it; `ended` is called with the exit code if it fails."""
        (reads, to_server), (from_server, writes) = os.pipe(), os.pipe()
        Thread(target=self._run, args=(reads, writes, ended), name="commonplace-own-server").start()
        return Link.over_pipes(from_server, to_server)

    def _run(self, reads: int, writes: int, ended: Callable[[int], object]) -> None:
        from commonplace.mcp.stdio import run

        with os.fdopen(reads, "rb") as lines, os.fdopen(writes, "wb") as replies:
            try:
                run(load(self._options), (lines, replies))
            except CommonplaceError as error:
                ended(report_failure(error, Call(command="mcp")))


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
