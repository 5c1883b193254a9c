"""VS Code: mcp.json beside its settings or in .vscode, with `servers` as the key; no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Locations, addressed, stdio


def user_folder(places: Locations) -> Path:
    """Where it and its extensions keep what belongs to the person."""
    return places.app_data / "Code" / "User"


VSCODE_EDITOR = Editor(
    name="vscode",
    title="VS Code",
    file=lambda places: (places.project / ".vscode" if places.project else user_folder(places)) / "mcp.json",
    signs=lambda places: (user_folder(places),),
    programs=("code",),
    servers="servers",
    stdio=lambda server: {"type": "stdio"} | stdio(server),
    http=addressed("url", type="http"),
)
