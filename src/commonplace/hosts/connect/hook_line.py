"""The command line of a hook: how it is written for the shell that an editor uses, and how ours are known again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PureWindowsPath

from commonplace.hosts.connect.editor import Shell
from commonplace.hosts.connect.places import System

_OURS = re.compile(
    r"""(?:^|[\\/\s"'])commonplace(?:\.exe)?["']?[ ]hook[ ]"""
    r"""(?:--data-dir[ ](?:"[^"]*"|'.*'|\S+)[ ])?[a-z-]+[ ](?P<event>\w+)\s*""",
    re.VERBOSE,
)
_PLAIN = re.compile(r"[\w.:\\/@%+=,~-]+", re.ASCII)


def hook_line(
    program: Sequence[str], editor: str, event: str, data_dir: str | None, system: System, windows: Shell
) -> str:
    """`commonplace hook EDITOR EVENT`, quoted so that the editor's shell takes it apart as it was meant."""
    place = ["--data-dir", data_dir] if data_dir else []
    words = [*program, "hook", *place, editor, event]
    if system != "win32":
        return shlex.join(words)
    if windows == "cmd":
        return " ".join(word if _PLAIN.fullmatch(word) else f'"{word}"' for word in words)
    if windows == "bash or powershell":
        # In bash a backslash outside of quotes is lost; every program takes the other slash.
        words = [PureWindowsPath(word).as_posix() if "\\" in word else word for word in words]
    quoted = [word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "''") + "'" for word in words]
    # What begins with a quote is a mere text to PowerShell unless it is called.
    called = windows == "powershell" or quoted != words
    return " ".join(["&", *quoted] if called else quoted)


def is_hook_line(line: str) -> bool:
    """Whether a command line is one of ours, of whichever version and place."""
    return _OURS.search(line) is not None


def event_of(line: str) -> str:
    """The event that a line of ours is for."""
    match = _OURS.search(line)
    return match["event"] if match else ""
