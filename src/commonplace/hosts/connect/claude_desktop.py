"""Claude Desktop: one file for the person, servers that it starts itself, no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.connect.editor import Editor
from commonplace.hosts.connect.places import Places


def _folder(places: Places) -> Path:
    return places.app_data / "Claude"


CLAUDE_DESKTOP = Editor(
    name="claude-desktop",
    title="Claude Desktop",
    file=lambda places: None if places.project else _folder(places) / "claude_desktop_config.json",
    signs=lambda places: (_folder(places),),
    afterwards="Quit and start it again.",
)
