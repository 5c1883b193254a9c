"""Running a command line for a shell that sent it: in its folder, with its settings, and with the model loaded.

The command prints to streams that stand for those of the shell; what it printed goes back with its exit code.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, TextIO

from commonplace.cli.terminal import CallerTerminal, caller_terminal
from commonplace.resident_process.memories import Caller, Memories


class NeedsInput(BaseException):
    """The command reads its standard input, which only the shell has."""


class Printed:
    """What a command printed, on which stream, in order; and which streams of its shell are terminals."""

    def __init__(self, terminals: Mapping[str, bool]) -> None:
        self.terminals = terminals
        self.parts: list[tuple[int, str]] = []

    def write(self, stream: int, text: str) -> None:
        if self.parts and self.parts[-1][0] == stream:
            self.parts[-1] = (stream, self.parts[-1][1] + text)
        else:
            self.parts.append((stream, text))


_printed: ContextVar[Printed | None] = ContextVar("printed", default=None)


class _Output(io.TextIOBase):
    """Standard output or error: of the shell while one of its commands runs, else of this process."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, number: int, own: TextIO) -> None:
        self._number, self._own = number, own

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            # So click finds out that this is a stream of text.
            raise TypeError("This stream takes text.")
        printed = _printed.get()
        if printed is None:
            return self._own.write(text)
        printed.write(self._number, text)
        return len(text)

    def flush(self) -> None:
        if _printed.get() is None:
            self._own.flush()

    def isatty(self) -> bool:
        printed = _printed.get()
        return self._own.isatty() if printed is None else printed.terminals.get(str(self._number), False)

    def writable(self) -> bool:
        return True


class _Input(io.TextIOBase):
    """Standard input, of which nothing can be read here."""

    encoding, errors = "utf-8", "replace"

    def isatty(self) -> bool:
        printed = _printed.get()
        return printed is not None and printed.terminals.get("0", False)

    @property
    def buffer(self) -> _Input:
        return self

    def read(self, _size: int | None = -1, /) -> Any:
        raise NeedsInput

    readline = read

    def readable(self) -> bool:
        return True


def take_streams() -> None:
    """From now on, what a command prints can be told from what this process prints."""
    sys.stdin, sys.stdout, sys.stderr = _Input(), _Output(1, sys.stdout), _Output(2, sys.stderr)


def run_command(memories: Memories, caller: Caller) -> dict[str, Any]:
    """Run the command line of a shell; what it printed and its exit code, or nothing if the shell has to run it."""
    from commonplace.cli import main as command_line

    arguments, terminals = caller.request.get("arguments"), caller.request.get("terminals")
    assert isinstance(arguments, list) and isinstance(terminals, dict)
    printed = Printed(terminals)

    _printed.set(printed)
    caller_terminal.set(CallerTerminal(caller.cwd, caller.env, lambda settings: memories.reach(settings, caller.env)()))
    try:
        code = command_line.run(arguments)
    except NeedsInput:
        return {}
    return {"printed": printed.parts, "code": code}
