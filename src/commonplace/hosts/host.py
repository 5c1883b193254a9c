"""A host: an editor or agent that uses this memory, and all there is to know about it in one description.

Every host is a module of this folder with a `HOST`: where it keeps its MCP servers, how it runs hooks and what it tells
them, which rule files it reads in a project, and where it leaves its sessions. Each part may be missing. Other packages
add hosts by an entry point (registry.py, docs/reference/add-a-host.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from commonplace.hosts.front_matter import Fields
    from commonplace.hosts.hook_event import Event, HookRecord
    from commonplace.hosts.rule_files import RuleFile
    from commonplace.hosts.transcript import Counts, LookBack, Position, Transcript, Turn
    from commonplace.memory.rules import RuleSet

NAME = "commonplace"
"""What our server is called in every editor."""

System = Literal["linux", "darwin", "win32"]
Shell = Literal["cmd", "powershell", "bash or powershell"]
Entry = dict[str, Any]
HintMoment = Literal["prompt", "before-tool", "after-tool"]
"""When a hook may show memories unasked: a prompt, a tool that is about to be used, one that was used."""


@dataclass(frozen=True, slots=True)
class Locations:
    """Where settings are looked for: a person's home on a system or, if `project` is given, that project.

    It is a value, so that every system can be asked about on any other.
    """

    home: Path
    system: System
    env: Mapping[str, str] = field(default_factory=dict)
    project: Path | None = None

    @property
    def app_data(self) -> Path:
        """Where applications with windows keep their settings."""
        if self.system == "win32":
            return self.folder_in("APPDATA") or self.home / "AppData" / "Roaming"
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        return self.config

    @property
    def config(self) -> Path:
        """`~/.config`, where command-line tools keep theirs."""
        return self.folder_in("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def top(self) -> Path:
        """The project, or the home. It is never removed, however empty."""
        return self.project or self.home

    def folder_in(self, variable: str) -> Path | None:
        """The folder that an environment variable names; a relative one means nothing to an editor."""
        path = Path(self.env.get(variable) or "")
        return path if path.is_absolute() else None


def locations_here(project: Path | None = None) -> Locations:
    """The locations of whoever runs this."""
    system: System = "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"
    return Locations(Path.home(), system, dict(os.environ), project)


@dataclass(frozen=True, slots=True)
class Server:
    """The server that a host is to start, or the address that it is to call."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


def stdio_entry(server: Server) -> Entry:
    """The entry that most hosts want for a server that they start."""
    entry: Entry = {"command": server.command, "args": list(server.args)}
    return entry | ({"env": dict(server.env)} if server.env else {})


def http_entry(url_key: str, **more: Any) -> Callable[[Server], Entry]:
    """Makes the entry of a server that is called: its address under this key, and its API key in a header."""
    first = {"type": more["type"]} if "type" in more else {}
    return lambda server: first | {url_key: server.url, "headers": server.headers} | more


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Where a host keeps its MCP servers, and what an entry looks like there."""

    # The file with the servers; None where the host reads none from.
    file: Callable[[Locations], Path | None]
    # Folders and files that are there only if the host is installed.
    signs: Callable[[Locations], tuple[Path, ...]]
    # Its commands, looked for on the PATH.
    programs: tuple[str, ...] = ()
    # The key in the file under which the servers are.
    servers: str = "mcpServers"
    stdio: Callable[[Server], Entry] = stdio_entry
    # None if it cannot call an address.
    http: Callable[[Server], Entry] | None = None
    format: Literal["jsonc", "toml"] = "jsonc"
    # What a person has to do after connecting it, if anything.
    advice: str = ""

    def entry(self, server: Server) -> Entry:
        """The entry of a server as this host wants it."""
        if not server.url:
            return self.stdio(server)
        assert self.http is not None
        return self.http(server)


@dataclass(frozen=True, slots=True)
class Hooks:
    """The commands that a host runs at its events, and what it tells them on standard input."""

    # The file that names the commands; None where the host has no hooks.
    file: Callable[[Locations], Path | None]
    # The events that we want to hear about, in the host's own words.
    events: tuple[str, ...]
    # What stands in the list at `path(event)` for an event and a command line.
    entry: Callable[[str, str], Entry]
    # Makes one of our events of what the host told; None where there is nothing in it to remember.
    read: Callable[[str, Mapping[str, Any], HookRecord], Event | None]
    path: Callable[[str], tuple[str, ...]] = lambda event: ("hooks", event)
    # A script that the file is made of, for a host whose hooks are code (settings_file.py); `entry` has no use then.
    script: Path | None = None
    # What else the file has to say.
    always: Mapping[str, Any] = field(default_factory=dict)
    # The shell that runs the command on Windows.
    windows: Shell = "cmd"
    # What a person has to do before the hooks run, if anything.
    advice: str = ""
    # Events at which a session starts: the hook prints what is remembered.
    starts: tuple[str, ...] = ()
    # Events after which what was captured is stored: a turn or a session ended.
    ends: tuple[str, ...] = ()
    # Events at which it takes in what is remembered, and what is about to happen or has happened then.
    hints: Mapping[str, HintMoment] = field(default_factory=dict)
    # The shape in which a plugin prints that (event, text). For our own hosts it is in capture/hooks/session_start.py.
    output: Callable[[str, str], str] = lambda _event, text: text


@dataclass(frozen=True, slots=True)
class RuleFiles:
    """The rule files and skills that a host reads in a project. Paths are relative to the project and use `/`."""

    # What `commonplace generate` calls it.
    name: str
    title: str
    # The project uses the host if any of these exists.
    signs: tuple[str, ...]
    # The files for a set of rules, in a project at this folder.
    files: Callable[[RuleSet, Path], list[RuleFile]]
    # Where the files are, as globs: ours among them.
    patterns: tuple[str, ...]
    # The folder with a folder for each skill.
    skills: str
    # Files that the host read once, or reads besides: learned from, never written.
    older: tuple[str, ...] = ()
    # The keys of a front matter that hold globs.
    glob_keys: tuple[str, ...] = ()
    # Whether a file with this front matter is read only when an agent asks for it, as a skill is.
    on_demand: Callable[[Fields], bool] = lambda _fields: False
    # Characters of one file that the host reads.
    limit: int | None = None

    def used_in(self, root: Path) -> bool:
        """Whether a sign of the host is there. If its file is a link to another one, that is written instead."""
        signs = [root / sign for sign in self.signs]
        return any(sign.exists() for sign in signs) and not any(_is_alias(sign, root) for sign in signs)


class ReadSession(Protocol):
    """What is known of a session while it is read; `position` is where reading can go on later."""

    @property
    def transcript(self) -> Transcript: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def position(self) -> Position: ...


class TranscriptReader(ReadSession, Protocol):
    """Takes the records of a session one after the other and makes turns of them; `rest` gives those still open."""

    def take(self, record: dict[str, Any], offset: int) -> Iterator[Turn]: ...
    def rest(self) -> Iterator[Turn]: ...


class StoredSession(ReadSession, Protocol):
    """One session out of a database that holds many."""

    def turns(self) -> Iterator[Turn]: ...


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Where a host leaves its sessions, and how they are read: files of JSON lines, or one database of all sessions."""

    folders: Callable[[Locations], Sequence[Path]]
    # Whether a record, one line of a file, was written by this host.
    matches: Callable[[Mapping[str, Any]], bool] = lambda _record: False
    # What the beginning of a record holds, where the record is longer than what is looked at.
    traits: tuple[bytes, ...] = ()
    # Whether a session may also be one JSON object over many lines.
    document: bool = False
    # What the path of a file tells about the session; None if nothing.
    start: Callable[[Path], Transcript] | None = None
    reader: Callable[[Position, LookBack], TranscriptReader] | None = None
    # The name of the SQLite file that holds all sessions, and how to read it.
    database: str = ""
    sessions: Callable[[Path], Iterator[StoredSession]] | None = None
    # A reader that learns to see more gets the next number, and every file is read again.
    version: int = 1


NO_MCP = McpSettings(file=lambda _at: None, signs=lambda _at: ())


@dataclass(frozen=True, slots=True)
class Host:
    """One editor or agent."""

    # As in `commonplace connect NAME` and `commonplace hook NAME EVENT`, and the source of its sessions.
    name: str
    title: str
    mcp: McpSettings = NO_MCP
    hooks: Hooks | None = None
    rule_files: RuleFiles | None = None
    transcripts: Transcripts | None = None


def _is_alias(file: Path, root: Path) -> bool:
    return file.is_symlink() and file.is_file() and file.resolve().is_relative_to(root)
