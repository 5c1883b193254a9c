"""Claude Desktop: one file for the person, servers that it starts itself, no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Locations


def _folder(places: Locations) -> Path:
    return places.app_data / "Claude"


CLAUDE_DESKTOP_EDITOR = Editor(
    name="claude-desktop",
    title="Claude Desktop",
    file=lambda places: None if places.project else _folder(places) / "claude_desktop_config.json",
    signs=lambda places: (_folder(places),),
    afterwards="Quit and start it again.",
)
