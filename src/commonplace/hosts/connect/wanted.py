"""What an editor is to have of ours, in its own words and beside what a person added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.hosts.connect.editor import Editor, Entry, Server
from commonplace.hosts.connect.hook_line import hook_line
from commonplace.hosts.connect.places import Places

# What says how a server is reached: always ours. The rest of an entry (allowed tools, a time limit) is the person's.
_REACHED = {"type", "command", "args", "url", "serverUrl", "httpUrl", "headers", "http_headers"}
_VARIABLES = ("env", "environment")
_DATA_DIR = "COMMONPLACE_DATA_DIR"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A server, and the program that hooks call; () for no hooks."""

    server: Server
    hook_program: tuple[str, ...] = ()
    data_dir: str | None = None


def local_server(program: tuple[str, ...], profile: str, data_dir: str | None) -> Server:
    """The server that an editor starts itself."""
    args = (*program[1:], "mcp", "--profile", profile)
    return Server(program[0], args, {_DATA_DIR: data_dir} if data_dir else {})


def wanted_entry(editor: Editor, wanted: Wanted, there: Mapping[str, Any]) -> Entry:
    """Our entry, with what a person added to the one that is there: other settings, and other variables."""
    entry = editor.entry(wanted.server)
    others = {key: value for key, value in there.items() if key not in _REACHED and key not in _VARIABLES}
    for name in _VARIABLES:
        old = there.get(name)
        if isinstance(old, dict) and not wanted.server.url:
            kept = {key: value for key, value in old.items() if key != _DATA_DIR} | dict(entry.get(name) or {})
            others |= {name: kept} if kept else {}
    return entry | others


def wanted_events(editor: Editor, places: Places, wanted: Wanted) -> tuple[str, ...]:
    """The events at which the editor is to call us."""
    offered = editor.hooks if editor.hooks and editor.hooks.file(places) else None
    return offered.events if offered and wanted.hook_program else ()


def wanted_hooks(editor: Editor, places: Places, wanted: Wanted) -> list[tuple[tuple[str, ...], Entry]]:
    """The hooks, each with the path of the list that it belongs to."""
    hooks = []
    for event in wanted_events(editor, places, wanted):
        assert editor.hooks is not None
        line = hook_line(wanted.hook_program, editor.name, event, wanted.data_dir, places.system, editor.hooks.windows)
        hooks.append((editor.hooks.path(event), editor.hooks.shape(event, line)))
    return hooks
