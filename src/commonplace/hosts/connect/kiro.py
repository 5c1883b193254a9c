"""Kiro: settings/mcp.json and a hooks file of our own, in ~/.kiro or in a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.hosts.host import NAME, Editor, Entry, Hooks, Locations, addressed, stdio

ALWAYS: dict[str, Any] = {"disabled": False, "autoApprove": []}
TIMEOUT_S = 10


def _folder(places: Locations) -> Path:
    return places.top / ".kiro"


def hook(event: str, command: str) -> Entry:
    named: Entry = {"name": f"{NAME}-{event}", "trigger": event}
    matching = {"matcher": ".*"} if event == "PostToolUse" else {}
    return named | matching | {"action": {"type": "command", "command": command}, "timeout": TIMEOUT_S, "enabled": True}


KIRO_EDITOR = Editor(
    name="kiro",
    title="Kiro",
    file=lambda places: _folder(places) / "settings" / "mcp.json",
    signs=lambda places: (places.home / ".kiro",),
    programs=("kiro", "kiro-cli"),
    stdio=lambda server: stdio(server) | ALWAYS,
    http=addressed("url", **ALWAYS),
    hooks=Hooks(
        file=lambda places: _folder(places) / "hooks" / f"{NAME}.json",
        events=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"),
        shape=hook,
        path=lambda _event: ("hooks",),
        always={"version": "v1"},
        windows="cmd",
    ),
)
