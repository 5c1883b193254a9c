"""VS Code and GitHub Copilot: servers in mcp.json, rules in .github. It has no hooks.

Copilot reads .github/copilot-instructions.md always, and .github/instructions for the files that `applyTo` names.
"""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Host, Locations, McpSettings, RuleFiles, http_entry, stdio_entry
from commonplace.hosts.rule_file_parts import comma_globs, quoted, write
from commonplace.hosts.rule_files import RuleGroup, file_per_group

_EVERY_FILE = "**"


def user_folder(at: Locations) -> Path:
    """Where VS Code and its extensions keep what belongs to the person."""
    return at.app_data / "Code" / "User"


def _rule_file(group: RuleGroup) -> str:
    if group.is_general:
        return ".github/copilot-instructions.md"
    return f".github/instructions/{group.name}.instructions.md"


def _front_matter(group: RuleGroup) -> str:
    if group.is_general:
        return ""
    return write([("applyTo", quoted(comma_globs(group.paths) or _EVERY_FILE))])


HOST = Host(
    name="vscode",
    title="VS Code",
    mcp=McpSettings(
        file=lambda at: (at.project / ".vscode" if at.project else user_folder(at)) / "mcp.json",
        signs=lambda at: (user_folder(at),),
        programs=("code",),
        servers="servers",
        stdio=lambda server: {"type": "stdio"} | stdio_entry(server),
        http=http_entry("url", type="http"),
    ),
    rule_files=RuleFiles(
        name="copilot",
        title="GitHub Copilot",
        # Every project on GitHub has a .github folder.
        signs=(".github/copilot-instructions.md", ".github/instructions"),
        files=file_per_group(_rule_file, _front_matter),
        patterns=(".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"),
        skills=".github/skills",
        glob_keys=("applyTo",),
    ),
)
