"""What an editor has of ours now: the server it starts or calls, and the hooks it runs. Reads, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from commonplace.hosts.connect.config_file import ConfigFile, read_config
from commonplace.hosts.connect.editor import NAME, Editor
from commonplace.hosts.connect.hook_line import event_of, is_hook_line
from commonplace.hosts.connect.places import Places
from commonplace.model import Key

_ADDRESSES = ("url", "serverUrl", "httpUrl")
_PROGRAMS = ("commonplace", "commonplace.exe")
_KEYS = "Bearer sk-sekha-"
MADE_KEY = "connect "
"""How the name of a key begins that was made for an editor."""


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
    def key(self) -> str:
        """The secret of the key that it sends."""
        return (self.headers or {}).get("Authorization", "").removeprefix("Bearer ")

    @property
    def ours(self) -> bool:
        """Whether the entry was made by us, and not by somebody who chose the same name."""
        program = self.command.replace("\\", "/").rpartition("/")[2].lower()
        as_module = self.args[:2] == ("-m", NAME)
        return program in _PROGRAMS or as_module or str((self.headers or {}).get("Authorization")).startswith(_KEYS)


def calls_this_memory(url: str, key: Key | None) -> bool:
    """Whether a server at an address answers from the memory on this machine, given the key of it that is used.

    A key that was made here for an address elsewhere proves nothing: that server does not know it.
    """
    host = urlsplit(url).hostname or ""
    local = host in ("localhost", "::1") or host.startswith("127.")
    return key is not None and (local or not key.name.startswith(MADE_KEY))


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
    """The entry under our name; None if there is none. What is no entry at all is an empty one, and not ours."""
    servers = config.value.get(editor.servers)
    if not isinstance(servers, dict) or NAME not in servers:
        return None
    entry = servers[NAME]
    return entry if isinstance(entry, dict) else {}


def described(path: Path, entry: Mapping[str, Any]) -> Connection:
    """An entry of any editor in the same words."""
    return _read(path, entry, None, ())


def hooks_in(value: object) -> Iterator[Hook]:
    """Every command line of ours in a file of hooks."""
    if isinstance(value, str) and is_hook_line(value):
        yield Hook(event_of(value), value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from hooks_in(inner)


def _read(path: Path, entry: Mapping[str, Any] | None, hook_path: Path | None, hooks: tuple[Hook, ...]) -> Connection:
    told = entry or {}
    command, args = told.get("command"), told.get("args")
    # OpenCode has the whole command line in one list.
    line = [*(command if isinstance(command, list) else [command or ""]), *(args if isinstance(args, list) else [])]
    return Connection(
        path,
        entry,
        str(line[0]) if line else "",
        tuple(map(str, line[1:])),
        _texts(told.get("env") or told.get("environment")),
        next((str(told[name]) for name in _ADDRESSES if told.get(name)), ""),
        _texts(told.get("headers") or told.get("http_headers")),
        hook_path,
        hooks,
    )


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}
