"""Cursor: mcp.json and hooks.json, in ~/.cursor or in a project."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Hooks, Locations, addressed

TIMEOUT_S = 10


def _folder(places: Locations) -> Path:
    return places.top / ".cursor"


CURSOR_EDITOR = Editor(
    name="cursor",
    title="Cursor",
    file=lambda places: _folder(places) / "mcp.json",
    signs=lambda places: (places.home / ".cursor",),
    programs=("cursor", "cursor-agent"),
    http=addressed("url"),
    hooks=Hooks(
        file=lambda places: _folder(places) / "hooks.json",
        events=(
            *("sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "afterAgentResponse"),
            *("preCompact", "stop", "subagentStop", "sessionEnd"),
        ),
        shape=lambda _event, command: {"command": command, "timeout": TIMEOUT_S},
        always={"version": 1},
        windows="cmd",
    ),
)
