"""The terminal: UTF-8 everywhere, no secrets and no control characters; progress bars, standard input.

A command may run in the resident process for a shell that sent it: then the folder and the environment are those of the
shell.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from commonplace.config import Settings
    from commonplace.memory.local_memory import LocalMemory

# Four bytes for each of the million characters that a text may have, and some more to notice a longer one.
MAX_STDIN_BYTES = 4 * 1_000_000 + 4
# A narrower terminal breaks lines by itself.
MIN_WIDTH = 40


class CallerTerminal(NamedTuple):
    """The shell that sent a command, and how to reach the memory of its settings, which is open already."""

    folder: str
    env: Mapping[str, str]
    reach: Callable[[Settings], LocalMemory]


caller_terminal: ContextVar[CallerTerminal | None] = ContextVar("caller_terminal", default=None)


def current_folder() -> Path:
    """The folder that the command is run in."""
    caller = caller_terminal.get()
    if caller is None:
        return Path.cwd()
    if not caller.folder:
        raise FileNotFoundError("The current folder was removed.")
    return Path(caller.folder)


def environment() -> Mapping[str, str]:
    """The environment that the command is run in."""
    caller = caller_terminal.get()
    return os.environ if caller is None else caller.env


def plain(text: str) -> str:
    """The text without secrets, and without anything that moves the cursor, colours, rings or reorders."""
    from commonplace.text.redact import redact, strip_control_characters

    return redact(strip_control_characters(text))


def quoted(text: str) -> str:
    """The same as a quotation: no line of it can pass for a heading of ours."""
    return "\n".join(f"> {line}".rstrip() for line in plain(text).splitlines())


def one_line(text: str) -> str:
    """The same on one line, for a table."""
    return " ".join(plain(text).split())


def terminal_width() -> int:
    """Columns of the terminal that the command is run in; 80 if nobody knows."""
    columns = environment().get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and int(columns) > 0:
        return int(columns)
    return shutil.get_terminal_size().columns


def wrapped(text: str, stream: TextIO, indent: str = "") -> str:
    """Text that breaks between words where it is shown in a terminal; elsewhere it stays as it is.

    `indent` stands before each line but the first.
    """
    width = terminal_width()
    if not stream.isatty() or width < MIN_WIDTH:
        return text
    wrap = textwrap.TextWrapper(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrap.fill(line) if len(line) > width else line for line in text.split("\n"))


def use_colour() -> bool | None:
    """False when NO_COLOR asks for none; None lets the terminal decide."""
    return False if environment().get("NO_COLOR") else None


def use_utf8() -> None:
    """Write UTF-8 whatever the locale or code page says, and never fail on a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(encoding="utf-8", errors="replace")


def read_stdin() -> str:
    """Standard input as UTF-8; invalid bytes are replaced."""
    data = sys.stdin.buffer.read(MAX_STDIN_BYTES)
    return data.decode("utf-8-sig", errors="replace").rstrip("\r\n")


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def stdin_is_piped() -> bool:
    """Whether standard input is a pipe or a file."""
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()


def console() -> Console | None:
    """A console that prints text as it is, or None if the output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, _environ=environment())


@contextlib.contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], object]]:
    """A progress bar on standard error if it is a terminal; the block reports each step in bytes."""
    if not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
