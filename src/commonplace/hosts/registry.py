"""Which hosts there are: a table of those that come with Commonplace, and those that other packages add.

The module of a host is imported when the host is asked for. Plugins are looked up only for a name that is not in the
table, or where all hosts are listed; a broken one is left out of lists, and `commonplace doctor` names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from commonplace import plugins
from commonplace.errors import InvalidInput
from commonplace.hosts.host import NO_MCP, Hooks, Host, RuleFiles, Transcripts

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
