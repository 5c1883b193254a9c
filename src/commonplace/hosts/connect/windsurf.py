"""Windsurf: mcp_config.json and hooks.json in ~/.codeium/windsurf; it reads no servers from projects."""

from __future__ import annotations

from pathlib import Path

from commonplace.hosts.host import Editor, Entry, Hooks, Locations, addressed


def _folder(places: Locations) -> Path:
    return places.home / ".codeium" / "windsurf"


def hook(_event: str, command: str) -> Entry:
    # What it runs on Windows has a key of its own.
    return {"powershell" if command.startswith("& ") else "command": command, "show_output": False}


WINDSURF_EDITOR = Editor(
    name="windsurf",
    title="Windsurf",
    file=lambda places: None if places.project else _folder(places) / "mcp_config.json",
    signs=lambda places: (_folder(places),),
    programs=("windsurf",),
    http=addressed("serverUrl"),
    hooks=Hooks(
        file=lambda places: None if places.project else _folder(places) / "hooks.json",
        events=(
            *("pre_user_prompt", "post_read_code", "post_write_code", "post_run_command"),
            *("post_mcp_tool_use", "post_cascade_response"),
        ),
        shape=hook,
        windows="powershell",
    ),
)
