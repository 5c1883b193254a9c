"""Gemini CLI: servers and hooks in one settings.json, in ~/.gemini or in a project; it counts milliseconds."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import NAME, Editor, Entry, Hooks, Locations, addressed

TIMEOUT_MS = 10_000


def file(places: Locations) -> Path:
    return places.top / ".gemini" / "settings.json"


def hook(_event: str, command: str) -> Entry:
    return {"hooks": [{"name": NAME, "type": "command", "command": command, "timeout": TIMEOUT_MS}]}


GEMINI_EDITOR = Editor(
    name="gemini",
    title="Gemini CLI",
    file=file,
    signs=lambda places: (places.home / ".gemini",),
    programs=("gemini",),
    http=addressed("httpUrl"),
    hooks=Hooks(
        file=file,
        events=("SessionStart", "BeforeAgent", "AfterTool", "PreCompress", "AfterAgent", "SessionEnd"),
        shape=hook,
        windows="powershell",
    ),
)
