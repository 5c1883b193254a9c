"""Cline: an extension of VS Code with a settings file of its own. It reads no servers from projects.

Its rules are .clinerules: a folder of files with `paths` on top or, in older projects, one file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.hosts.host import Host, Locations, McpSettings, RuleFiles, http_entry, stdio_entry
from commonplace.hosts.rule_file_parts import listed_paths
from commonplace.hosts.rule_files import RuleFile, file_per_group
from commonplace.hosts.vscode import user_folder

if TYPE_CHECKING:
    from commonplace.memory.rules import RuleSet

_ALWAYS: dict[str, Any] = {"disabled": False, "autoApprove": []}
_RULES = ".clinerules"
_in_folder = file_per_group(lambda group: f"{_RULES}/{group.name}.md", lambda group: listed_paths(group.paths))


def _folder(at: Locations) -> Path:
    return user_folder(at) / "globalStorage" / "saoudrizwan.claude-dev"


def _files(rules: RuleSet, root: Path) -> list[RuleFile]:
    if (root / _RULES).is_file():
        return [RuleFile(_RULES, rules=rules.rules)]
    return _in_folder(rules, root)


HOST = Host(
    name="cline",
    title="Cline",
    mcp=McpSettings(
        file=lambda at: None if at.project else _folder(at) / "settings" / "cline_mcp_settings.json",
        signs=lambda at: (_folder(at),),
        stdio=lambda server: stdio_entry(server) | _ALWAYS,
        http=http_entry("url", type="streamableHttp", **_ALWAYS),
    ),
    rule_files=RuleFiles(
        name="cline",
        title="Cline",
        signs=(_RULES,),
        files=_files,
        patterns=(_RULES, f"{_RULES}/*.md"),
        skills=".cline/skills",
        glob_keys=("paths",),
    ),
)
