"""What an editor is to have of ours: the entry of our server, and the command lines of our hooks."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from commonplace.hosts.host import NAME, Entry, Host, Locations, Server, Shell, System

_OURS = re.compile(
    r"""(?:^|[\\/\s"'])commonplace(?:\.exe)?["']?[ ]hook[ ]"""
    r"""(?:--data-dir[ ](?:"[^"]*"|'.*'|\S+)[ ])?[\w.-]+[ ](?P<event>[\w.:-]+)\s*""",
    re.VERBOSE,
)
_PLAIN = re.compile(r"[\w.:\\/@%+=,~-]+", re.ASCII)


def hook_command(
    program: Sequence[str], host: str, event: str, data_dir: str | None, system: System, windows: Shell
) -> str:
    """`commonplace hook EDITOR EVENT`, quoted so that the editor's shell takes it apart as it was meant."""
    folder = ["--data-dir", data_dir] if data_dir else []
    words = [*program, "hook", *folder, host, event]
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


def is_our_hook_command(line: str) -> bool:
    """Whether a command line is one of ours, of whichever version and place."""
    return _OURS.search(line) is not None


def event_of_command(line: str) -> str:
    """The event that a line of ours is for."""
    match = _OURS.search(line)
    return match["event"] if match else ""


def commonplace_program() -> tuple[str, ...]:
    """The command that was called, else the one next to the interpreter, else on the PATH, else the module."""
    called = Path(sys.argv[0])
    if called.stem == NAME and called.is_file():
        return (str(called.absolute()),)
    neighbour = Path(sys.executable).parent / (f"{NAME}.exe" if sys.platform == "win32" else NAME)
    if neighbour.is_file():
        return (str(neighbour),)
    known = shutil.which(NAME)
    return (str(Path(known).absolute()),) if known else (sys.executable, "-m", NAME)


# What says how a server is reached: always ours. The rest of an entry (allowed tools, a time limit) is the person's.
_REACHED = {"type", "command", "args", "url", "serverUrl", "httpUrl", "headers", "http_headers"}
_VARIABLES = ("env", "environment")
_DATA_DIR = "COMMONPLACE_DATA_DIR"


@dataclass(frozen=True, slots=True)
class DesiredConnection:
    """A server, and the program that hooks call; () for no hooks."""

    server: Server
    hook_program: tuple[str, ...] = ()
    data_dir: str | None = None


def local_server(program: tuple[str, ...], profile: str, data_dir: str | None) -> Server:
    """The server that an editor starts itself."""
    args = (*program[1:], "mcp", "--profile", profile)
    return Server(program[0], args, {_DATA_DIR: data_dir} if data_dir else {})


def wanted_entry(host: Host, wanted: DesiredConnection, there: Mapping[str, Any]) -> Entry:
    """Our entry, with what a person added to the one that is there: other settings, and other variables."""
    entry = host.mcp.entry(wanted.server)
    others = {key: value for key, value in there.items() if key not in _REACHED and key not in _VARIABLES}
    for name in _VARIABLES:
        old = there.get(name)
        if isinstance(old, dict) and not wanted.server.url:
            merged = {key: value for key, value in old.items() if key != _DATA_DIR} | dict(entry.get(name) or {})
            others |= {name: merged} if merged else {}
    return entry | others


def wanted_events(host: Host, locations: Locations, wanted: DesiredConnection) -> tuple[str, ...]:
    """The events at which the editor is to call us."""
    offered = host.hooks if host.hooks and host.hooks.file(locations) else None
    return offered.events if offered and wanted.hook_program else ()


def wanted_hooks(host: Host, locations: Locations, wanted: DesiredConnection) -> list[tuple[tuple[str, ...], Entry]]:
    """The hooks, each with the path of the list that it belongs to."""
    hooks = []
    for event in wanted_events(host, locations, wanted):
        assert host.hooks is not None
        line = hook_command(
            wanted.hook_program, host.name, event, wanted.data_dir, locations.system, host.hooks.windows
        )
        hooks.append((host.hooks.path(event), host.hooks.entry(event, line)))
    return hooks
