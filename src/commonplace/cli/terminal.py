"""Text on its way to a terminal: UTF-8 everywhere, and nothing in it that is secret or that a terminal would obey."""

from __future__ import annotations

import contextlib
import io
import os
import sys

# Four bytes for each of the million characters that a text may have, and some to notice that there are more.
MOST_BYTES = 4 * 1_000_000 + 4


def plain(text: str) -> str:
    """The text without secrets, and without anything that moves the cursor, colours, rings or reorders."""
    from commonplace.text.control_characters import strip_control_characters
    from commonplace.text.redact import redact

    return redact(strip_control_characters(text))


def one_line(text: str) -> str:
    """The text as one line of a table."""
    return " ".join(plain(text).split())


def use_colour() -> bool | None:
    """False when NO_COLOR asks for none; None lets the terminal decide."""
    return False if os.environ.get("NO_COLOR") else None


def use_utf8() -> None:
    """Write UTF-8 whatever the locale or code page says, and never fail on a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(encoding="utf-8", errors="replace")


def read_stdin() -> str:
    """What is piped in, as UTF-8; bytes that are not are replaced."""
    data = sys.stdin.buffer.read(MOST_BYTES)
    return data.decode("utf-8-sig", errors="replace").rstrip("\r\n")


def stdin_is_piped() -> bool:
    """Whether something other than a person is at the other end of stdin."""
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()
