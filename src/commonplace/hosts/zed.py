"""Zed: `context_servers` in its settings, which are JSON with comments. It has no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Host, Locations, McpSettings, http_entry


def _folder(at: Locations) -> Path:
    if at.system == "win32":
        return at.app_data / "Zed"
    return (at.home / ".config" if at.system == "darwin" else at.config) / "zed"


HOST = Host(
    name="zed",
    title="Zed",
    mcp=McpSettings(
        file=lambda at: (at.project / ".zed" if at.project else _folder(at)) / "settings.json",
        signs=lambda at: (_folder(at),),
        programs=("zed", "zeditor"),
        servers="context_servers",
        http=http_entry("url"),
    ),
)
