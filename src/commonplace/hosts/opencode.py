"""OpenCode: opencode.json or .jsonc, with the whole command line in one list. Its plugins are code, so no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Entry, Host, Locations, McpSettings, Server, http_entry


def _folder(at: Locations) -> Path:
    return at.config / "opencode"


def _file(at: Locations) -> Path:
    folder = at.project or _folder(at)
    commented = folder / "opencode.jsonc"
    return commented if commented.is_file() else folder / "opencode.json"


def _local(server: Server) -> Entry:
    entry: Entry = {"type": "local", "command": [server.command, *server.args], "enabled": True}
    return entry | ({"environment": dict(server.env)} if server.env else {})


HOST = Host(
    name="opencode",
    title="OpenCode",
    mcp=McpSettings(
        file=_file,
        signs=lambda at: (_folder(at),),
        programs=("opencode",),
        servers="mcp",
        stdio=_local,
        http=http_entry("url", type="remote", enabled=True),
    ),
)
