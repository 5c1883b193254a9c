"""A host: an editor or agent that uses this memory, described in one place; and the table of all hosts.

Every host is a module of this folder with a `HOST`: where it keeps its MCP servers, how it runs hooks and what it tells
them, which rule files it reads in a project, and where it leaves its sessions. Each part may be missing. Other packages
add hosts by an entry point (docs/reference/add-a-host.md).

The module of a host is imported when the host is asked for. Plugins are looked up only for a name that is not in the
table, or where all hosts are listed; a broken one is left out of lists, and `commonplace doctor` names it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from commonplace import plugins
from commonplace.errors import InvalidInput
from commonplace.fast.output_shapes import plain_text

if TYPE_CHECKING:
    from commonplace.hosts.hook_event import Event, HookRecord
    from commonplace.hosts.rule_file_parts import Fields
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
    # The next five are also in the table of fast/host_events.py: run `python -m commonplace.hosts.event_table`.
    # Events at which a session starts: the hook prints what is remembered.
    starts: tuple[str, ...] = ()
    # Events after which what was captured is stored: a turn or a session ended.
    ends: tuple[str, ...] = ()
    # Events at which it takes in what is remembered, and what is about to happen or has happened then.
    hints: Mapping[str, HintMoment] = field(default_factory=dict)
    # What the matcher of a hook before tools also matches with a server elsewhere: the tools of that server.
    server_tools: str = ""
    # The shape in which the hook prints that (event, text); those of our own hosts are in fast/output_shapes.py.
    output: Callable[[str, str], str] = plain_text
    # What the host has to read after an event at which nothing is printed; "*" stands for all other events.
    replies: Mapping[str, str] = field(default_factory=dict)
    # The environment variable in which it may pass a prompt. Then it may write nothing, and leave standard input open.
    prompt_variable: str = ""


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


# The module of each host.
BUILT_IN = {
    "claude-code": "claude_code",
    "claude-desktop": "claude_desktop",
    "cursor": "cursor",
    "windsurf": "windsurf",
    "vscode": "vscode",
    "cline": "cline",
    "kiro": "kiro",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "zed": "zed",
    "agents": "agents_md",
    "roo": "roo",
}
# The hosts that `connect` knows, in its order.
EDITOR_NAMES = tuple(name for name in BUILT_IN if name not in ("agents", "roo"))
# What `generate` calls the rule files of a host, in its order.
_TARGETS = {
    "agents": "agents",
    "claude": "claude-code",
    "cursor": "cursor",
    "windsurf": "windsurf",
    "copilot": "vscode",
    "gemini": "gemini",
    "kiro": "kiro",
    "cline": "cline",
    "roo": "roo",
}
TARGET_NAMES = tuple(_TARGETS)
# The hosts whose sessions `ingest` reads, in its order.
SOURCE_NAMES = ("claude-code", "codex", "gemini", "cursor", "opencode")


@cache
def find_host(name: str) -> Host | None:
    """The host of this name; None if there is none. InvalidInput if it is a plugin that cannot be used."""
    if name in BUILT_IN:
        host: Host = import_module(f"commonplace.hosts.{BUILT_IN[name]}").HOST
        return host
    found: Host | None = plugins.find(plugins.HOSTS, name, check_host)
    return found


def plugin_hosts() -> list[Host]:
    """The hosts that other packages add, as far as they can be used."""
    found = plugins.find_all(plugins.HOSTS, check_host)
    return [host for host in found.values() if isinstance(host, Host)]


def check_host(name: str, found: Any) -> str:
    """What is wrong with the object that an entry point for a host leads to; empty if nothing is."""
    if name in BUILT_IN or name in TARGET_NAMES:
        return "it has the name of a built-in host"
    if not isinstance(found, Host):
        return "it is not a commonplace.hosts.host.Host"
    return "" if found.name == name else f"its host is called {found.name!r}"


def editor_names() -> tuple[str, ...]:
    """What may be named to `connect`. Plugins are not loaded for it: one that is broken says so when it is used."""
    return (*EDITOR_NAMES, *plugins.names(plugins.HOSTS))


def target_names() -> tuple[str, ...]:
    """What may be named to `generate`."""
    return (*(target.name for target in rule_targets()), *plugins.names(plugins.HOSTS))


def editors() -> list[Host]:
    """Every host that can be connected."""
    return [*_built_in(EDITOR_NAMES), *(host for host in plugin_hosts() if host.mcp is not NO_MCP)]


def editor_named(name: str) -> Host:
    host = find_host(name)
    if host is None or host.mcp is NO_MCP:
        raise InvalidInput(f"There is no editor {name!r}.", f"Editors: {', '.join(one.name for one in editors())}.")
    return host


def editors_named(names: Sequence[str]) -> list[Host]:
    """Editors by their names, in the order of the table."""
    named = {name: editor_named(name) for name in (*EDITOR_NAMES, *sorted(names)) if name in names}
    return list(named.values())


def rule_targets() -> list[RuleFiles]:
    """The rule files of every host that reads some."""
    hosts = [*_built_in(_TARGETS.values()), *plugin_hosts()]
    return [host.rule_files for host in hosts if host.rule_files is not None]


def rule_targets_in(root: Path, names: Sequence[str] = ()) -> list[RuleFiles]:
    """The targets of these names; without any, those that the project uses; AGENTS.md if it uses none."""
    targets = rule_targets()
    known = [target.name for target in targets]
    unknown = [name for name in names if name not in known]
    if unknown:
        for name in unknown:
            # A broken plugin is named.
            find_host(name)
        raise InvalidInput(f"There is no target {', '.join(map(repr, unknown))}.", f"Targets: {', '.join(known)}.")
    if names:
        return [target for target in targets if target.name in names]
    return [target for target in targets if target.used_in(root)] or targets[:1]


def hooks_of(name: str) -> Hooks | None:
    """The hooks of a host; None if it has none or is not known."""
    host = find_host(name)
    return host.hooks if host else None


def transcripts_of(name: str) -> Transcripts | None:
    """How the sessions of a host are read; None if they are not, or the host is not known."""
    host = find_host(name)
    return host.transcripts if host else None


def transcript_sources() -> dict[str, Transcripts]:
    """How the sessions are read of every host that leaves some, by the host's name."""
    hosts = [*_built_in(SOURCE_NAMES), *plugin_hosts()]
    return {host.name: host.transcripts for host in hosts if host.transcripts is not None}


def _built_in(names: Iterable[str]) -> list[Host]:
    return [host for name in names if (host := find_host(name))]
