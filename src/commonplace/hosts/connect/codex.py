"""Codex CLI: config.toml and hooks.json, in ~/.codex (or CODEX_HOME) or in a project that it trusts."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Entry, Hooks, Locations, Server

TIMEOUT_S = 10
# It gives the end of a session no more than this.
END_TIMEOUT_S = 3


def _home(places: Locations) -> Path:
    return places.named("CODEX_HOME") or places.home / ".codex"


def _folder(places: Locations) -> Path:
    return places.project / ".codex" if places.project else _home(places)


def hook(event: str, command: str) -> Entry:
    timeout = END_TIMEOUT_S if event == "SessionEnd" else TIMEOUT_S
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def http(server: Server) -> Entry:
    return {"url": server.url, "http_headers": server.headers}


CODEX_EDITOR = Editor(
    name="codex",
    title="Codex CLI",
    file=lambda places: _folder(places) / "config.toml",
    signs=lambda places: (_home(places),),
    programs=("codex",),
    servers="mcp_servers",
    http=http,
    hooks=Hooks(
        file=lambda places: _folder(places) / "hooks.json",
        events=(
            *("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact"),
            *("Stop", "SubagentStop", "SessionEnd"),
        ),
        shape=hook,
        windows="powershell",
    ),
    format="toml",
    after_hooks="Codex runs a new hook only after you trusted it: type /hooks in it.",
)
