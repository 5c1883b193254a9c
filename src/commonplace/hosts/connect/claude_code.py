"""Claude Code: servers in ~/.claude.json or a project's .mcp.json, hooks in its settings."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Entry, Hooks, Locations, Server, stdio

TIMEOUT_S = 10


def _settings(places: Locations) -> Path:
    return places.named("CLAUDE_CONFIG_DIR") or places.home / ".claude"


def file(places: Locations) -> Path:
    if places.project:
        return places.project / ".mcp.json"
    return (places.named("CLAUDE_CONFIG_DIR") or places.home) / ".claude.json"


def hook_file(places: Locations) -> Path:
    # A path on this machine is not for the team: of a project's settings, the local ones are not committed.
    return places.project / ".claude" / "settings.local.json" if places.project else _settings(places) / "settings.json"


def hook(_event: str, command: str) -> Entry:
    run: Entry = {"type": "command", "command": command, "timeout": TIMEOUT_S}
    # It may run hooks in Git's bash or in PowerShell; a quoted path needs to know which.
    return {"hooks": [run | ({"shell": "powershell"} if command.startswith("& ") else {})]}


def http(server: Server) -> Entry:
    return {"type": "http", "url": server.url, "headers": server.headers}


CLAUDE_CODE_EDITOR = Editor(
    name="claude-code",
    title="Claude Code",
    file=file,
    signs=lambda places: (_settings(places), file(Locations(places.home, places.system, places.env))),
    programs=("claude",),
    stdio=lambda server: {"type": "stdio"} | stdio(server),
    http=http,
    hooks=Hooks(
        file=hook_file,
        events=(
            *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
            *("PreCompact", "Stop", "SubagentStop", "SessionEnd"),
        ),
        shape=hook,
        windows="bash or powershell",
    ),
)
