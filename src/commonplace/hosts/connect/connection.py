"""What an editor has of ours now: the server it starts or calls, and the hooks it runs. Reads, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.hosts.connect.config_file import ConfigFile, read_config
from commonplace.hosts.connect.editor import NAME, Editor
from commonplace.hosts.connect.hook_line import event_of, is_hook_line
from commonplace.hosts.connect.places import Places

_ADDRESSES = ("url", "serverUrl", "httpUrl")
_PROGRAMS = ("commonplace", "commonplace.exe")
_KEYS = "Bearer sk-sekha-"


@dataclass(frozen=True, slots=True)
class Hook:
    """A command line that an editor runs at an event."""

    event: str
    command: str


@dataclass(frozen=True, slots=True)
class Connection:
    """What is written now. `entry` is as it stands in the file; the other fields read alike for every editor."""

    file: Path
    entry: Mapping[str, Any] | None
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    url: str = ""
    headers: Mapping[str, str] | None = None
    hook_file: Path | None = None
    hooks: tuple[Hook, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether the entry was made by us, and not by somebody who chose the same name."""
        program = self.command.replace("\\", "/").rpartition("/")[2].lower()
        as_module = self.args[:2] == ("-m", NAME)
        return program in _PROGRAMS or as_module or str((self.headers or {}).get("Authorization")).startswith(_KEYS)


def connection(editor: Editor, places: Places) -> Connection | None:
    """What is written in an editor's files now; None if nothing. Raises Conflict for a file that cannot be read."""
    path = editor.file(places)
    if path is None:
        return None
    entry = entry_in(read_config(path, editor.format), editor)
    hook_path = editor.hooks.file(places) if editor.hooks else None
    hooks = tuple(hooks_in(read_config(hook_path, "jsonc").value)) if hook_path else ()
    if entry is None and not hooks:
        return None
    return _read(path, entry, hook_path, hooks)


def entry_in(config: ConfigFile, editor: Editor) -> Mapping[str, Any] | None:
    """The entry under our name; None if there is none."""
    servers = config.value.get(editor.servers)
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return entry if isinstance(entry, dict) else None


def described(path: Path, entry: Mapping[str, Any]) -> Connection:
    """An entry of any editor in the same words."""
    return _read(path, entry, None, ())


def hooks_in(value: object, event: str = "") -> Iterator[Hook]:
    """Every command line of ours in a file of hooks."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and is_hook_line(inner):
                yield Hook(event_of(inner), inner)
            elif key != "command":
                yield from hooks_in(inner, event)
    elif isinstance(value, list):
        for inner in value:
            yield from hooks_in(inner, event)


def _read(path: Path, entry: Mapping[str, Any] | None, hook_path: Path | None, hooks: tuple[Hook, ...]) -> Connection:
    told = entry or {}
    command = told.get("command") or ""
    line = [str(part) for part in command] if isinstance(command, list) else [str(command)]
    args = told.get("args") if isinstance(told.get("args"), list) else []
    assert isinstance(args, Sequence)
    return Connection(
        path,
        entry,
        line[0] if line else "",
        (*line[1:], *map(str, args)),
        _texts(told.get("env") or told.get("environment")),
        next((str(told[name]) for name in _ADDRESSES if told.get(name)), ""),
        _texts(told.get("headers") or told.get("http_headers")),
        hook_path,
        hooks,
    )


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}
