"""Places: where a person's and a project's files are, as a value, so that every system can be asked about on any."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from commonplace.hosts.front_matter import Fields, quoted, write
from commonplace.hosts.rule_files import skill_name
from commonplace.memory.rules import Rule, RuleSet, Skill

System = Literal["linux", "darwin", "win32"]


@dataclass(frozen=True, slots=True)
class Locations:
    """A home on a system. With a project, its files are meant, and without one the person's own."""

    home: Path
    system: System
    env: Mapping[str, str] = field(default_factory=dict)
    project: Path | None = None

    @property
    def app_data(self) -> Path:
        """Where applications with windows keep their settings."""
        if self.system == "win32":
            return self.named("APPDATA") or self.home / "AppData" / "Roaming"
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        return self.config

    @property
    def config(self) -> Path:
        """`~/.config`, where tools of the command line keep theirs."""
        return self.named("XDG_CONFIG_HOME") or self.home / ".config"

    @property
    def top(self) -> Path:
        """What is never removed, however empty: the project, or the home."""
        return self.project or self.home

    def named(self, variable: str) -> Path | None:
        """The folder that a variable names; a relative one means nothing to an editor."""
        path = Path(self.env.get(variable) or "")
        return path if path.is_absolute() else None


def locations_here(project: Path | None = None) -> Locations:
    """The places of whoever runs this."""
    system: System = "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"
    return Locations(Path.home(), system, dict(os.environ), project)


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
    file: Callable[[Locations], Path | None]
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
    file: Callable[[Locations], Path | None]
    # Folders and files that only an installed editor has.
    signs: Callable[[Locations], tuple[Path, ...]]
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


MAX_DESCRIPTION = 1024


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file that a host wants: its place in the project, its front matter, and rules or whole texts."""

    path: str
    front: str = ""
    rules: tuple[Rule, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleTarget:
    """What there is to know about one tool. Paths are relative to the project and use `/`."""

    name: str
    title: str
    # The project uses the tool if any of these exists.
    signs: tuple[str, ...]
    # Its rule files for a rulebook, in a project at this folder.
    files: Callable[[RuleSet, Path], list[RuleFile]]
    # Where its rule files are, as globs: ours among them.
    homes: tuple[str, ...]
    # The folder with a folder for each skill.
    skills: str
    # Files it read once, or reads besides: learned from, never written.
    older: tuple[str, ...] = ()
    # Where a front matter keeps the globs.
    glob_keys: tuple[str, ...] = ()
    # Whether a rule file with this front matter is read only when an agent asks for it, as a skill is.
    on_demand: Callable[[Fields], bool] = lambda _fields: False
    # More characters than this in one file are not read by the tool.
    limit: int | None = None

    def used_in(self, root: Path) -> bool:
        """Whether a sign of it is there. If its file is a link to another one, that is written instead."""
        signs = [root / sign for sign in self.signs]
        return any(sign.exists() for sign in signs) and not any(_is_alias(sign, root) for sign in signs)

    def wants(self, memory: RuleSet, root: Path) -> list[RuleFile]:
        """Everything to be written for it, skills too."""
        return [*(self.files(memory, root) if memory.rules else ()), *_skill_files(self.skills, memory)]


def _is_alias(file: Path, root: Path) -> bool:
    return file.is_symlink() and file.is_file() and file.resolve().is_relative_to(root)


def _skill_files(folder: str, memory: RuleSet) -> list[RuleFile]:
    """A folder with a SKILL.md for each category of skills. Several in one category follow each other."""
    named: dict[str, list[Skill]] = {}
    for skill in memory.skills:
        if skill.category:
            named.setdefault(skill_name(skill.category, skill.id), []).append(skill)
    files = []
    for name, skills in named.items():
        description = skills[0].description[:MAX_DESCRIPTION]
        front = write([("name", name), ("description", quoted(description))])
        texts = tuple(skill.text.strip() for skill in skills)
        files.append(RuleFile(f"{folder}/{name}/SKILL.md", front, texts=texts))
    return files
