"""Claude Desktop: one settings file for the person, with servers that it starts itself. It has no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Host, Locations, McpSettings


def _folder(at: Locations) -> Path:
    return at.app_data / "Claude"


HOST = Host(
    name="claude-desktop",
    title="Claude Desktop",
    mcp=McpSettings(
        file=lambda at: None if at.project else _folder(at) / "claude_desktop_config.json",
        signs=lambda at: (_folder(at),),
        advice="Quit and start it again.",
    ),
)
