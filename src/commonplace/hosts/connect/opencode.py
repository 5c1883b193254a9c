"""OpenCode: opencode.json or .jsonc, with the whole command line in one list; its plugins are code, so no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Entry, Locations, Server, addressed


def _folder(places: Locations) -> Path:
    return places.config / "opencode"


def file(places: Locations) -> Path:
    folder = places.project or _folder(places)
    commented = folder / "opencode.jsonc"
    return commented if commented.is_file() else folder / "opencode.json"


def local(server: Server) -> Entry:
    entry: Entry = {"type": "local", "command": [server.command, *server.args], "enabled": True}
    return entry | ({"environment": dict(server.env)} if server.env else {})


OPENCODE_EDITOR = Editor(
    name="opencode",
    title="OpenCode",
    file=file,
    signs=lambda places: (_folder(places),),
    programs=("opencode",),
    servers="mcp",
    stdio=local,
    http=addressed("url", type="remote", enabled=True),
)
