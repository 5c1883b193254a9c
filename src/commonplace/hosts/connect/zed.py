"""Zed: `context_servers` in its settings, which are JSON with comments; no hooks."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Locations, addressed


def _folder(places: Locations) -> Path:
    if places.system == "win32":
        return places.app_data / "Zed"
    return (places.home / ".config" if places.system == "darwin" else places.config) / "zed"


ZED_EDITOR = Editor(
    name="zed",
    title="Zed",
    file=lambda places: (places.project / ".zed" if places.project else _folder(places)) / "settings.json",
    signs=lambda places: (_folder(places),),
    programs=("zed", "zeditor"),
    servers="context_servers",
    http=addressed("url"),
)
