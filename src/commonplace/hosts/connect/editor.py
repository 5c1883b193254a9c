"""An editor or agent that can be connected: where its files are, and the shapes that it wants in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from commonplace.hosts.connect.places import Places

NAME = "commonplace"
"""What our server is called in every editor."""

Shell = Literal["cmd", "powershell", "bash or powershell"]
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    """What an editor is to start, or the address that it is to call."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


def stdio(server: Server) -> Entry:
    """The shape that most editors share."""
    entry: Entry = {"command": server.command, "args": list(server.args)}
    return entry | ({"env": dict(server.env)} if server.env else {})


def addressed(name: str, **more: Any) -> Callable[[Server], Entry]:
    """The shape of a server that is called: its address under this name, and its key in a header."""
    first = {"type": more["type"]} if "type" in more else {}
    return lambda server: first | {name: server.url, "headers": server.headers} | more


@dataclass(frozen=True, slots=True)
class Hooks:
    """How an editor wants to be told what to run at which event."""

    # The file, None where the editor has no hooks there.
    file: Callable[[Places], Path | None]
    events: tuple[str, ...]
    # One entry of the list at `path(event)`.
    shape: Callable[[str, str], Entry]
    path: Callable[[str], tuple[str, ...]] = lambda event: ("hooks", event)
    # What the file has to say besides.
    always: Mapping[str, Any] = field(default_factory=dict)
    # The shell that runs the command on Windows.
    windows: Shell = "cmd"


@dataclass(frozen=True, slots=True)
class Editor:
    """What there is to know about connecting one editor."""

    name: str
    title: str
    # The file with its servers; None where it reads none from.
    file: Callable[[Places], Path | None]
    # Folders and files that only an installed editor has.
    signs: Callable[[Places], tuple[Path, ...]]
    # Its commands, looked for on the PATH.
    programs: tuple[str, ...] = ()
    # The key in that file under which the servers are.
    servers: str = "mcpServers"
    stdio: Callable[[Server], Entry] = stdio
    # None if it cannot call an address.
    http: Callable[[Server], Entry] | None = None
    hooks: Hooks | None = None
    format: Literal["jsonc", "toml"] = "jsonc"
    # What a person has to do after connecting it, if anything.
    afterwards: str = ""
    # The same, where hooks were put in.
    after_hooks: str = ""

    def entry(self, server: Server) -> Entry:
        """The server in this editor's words."""
        if not server.url:
            return self.stdio(server)
        assert self.http is not None
        return self.http(server)
