"""Kiro: settings/mcp.json, a hooks file of our own, and steering files, in ~/.kiro or in a project.

Its IDE tells hooks the same as Claude Code does; the command line has names of its own, and old versions of it tell the
prompt only in the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.hosts.hook_event import (
    Event,
    EventTable,
    HookRecord,
    PayloadFields,
    event_from_table,
    tool_details,
)
from commonplace.hosts.host import NAME, Entry, Hooks, Host, Locations, McpSettings, RuleFiles, http_entry, stdio_entry
from commonplace.hosts.rule_file_parts import bracketed, quoted, write
from commonplace.hosts.rule_files import RuleGroup, file_per_group
from commonplace.text.untrusted_json import parse_if_json

_ALWAYS: dict[str, Any] = {"disabled": False, "autoApprove": []}
_TIMEOUT_S = 10
_PROMPT = "prompt in the environment"


def _folder(at: Locations) -> Path:
    return at.top / ".kiro"


def _hook_entry(event: str, command: str) -> Entry:
    named: Entry = {"name": f"{NAME}-{event}", "trigger": event}
    matching = {"matcher": ".*"} if event == "PostToolUse" else {}
    run = {"action": {"type": "command", "command": command}, "timeout": _TIMEOUT_S, "enabled": True}
    return named | matching | run


def _tool(fields: PayloadFields) -> dict[str, Any]:
    """The use of a tool. Its results may be objects, written as text."""
    output = fields.any("tool_response", "tool_output")
    results = output.get("result") if isinstance(output, Mapping) else None
    if not isinstance(results, list):
        return tool_details(fields, output)
    return tool_details(fields, output) | {"output": {**output, "result": list(map(parse_if_json, results))}}


_EVENTS: EventTable = {
    **dict.fromkeys(
        ("agentspawn", "sessionstart"), ("session-start", lambda fields: {"reason": fields.text("source")})
    ),
    **dict.fromkeys(
        ("userpromptsubmit", "promptsubmit"),
        ("prompt", lambda fields: {"text": fields.text("prompt", "user_prompt", _PROMPT)}),
    ),
    "posttooluse": ("tool", _tool),
    **dict.fromkeys(
        ("stop", "agentstop"),
        ("stop", lambda fields: {"text": fields.text("assistant_response", "last_assistant_message")}),
    ),
    "sessionend": ("session-end", lambda fields: {"reason": fields.text("reason")}),
}


def _read_event(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    return event_from_table(_EVENTS, name, {**payload, _PROMPT: record.prompt}, record)


def _front_matter(group: RuleGroup) -> str:
    if not group.paths:
        return write([("inclusion", "always")])
    patterns = quoted(group.paths[0]) if len(group.paths) == 1 else bracketed(group.paths)
    return write([("inclusion", "fileMatch"), ("fileMatchPattern", patterns)])


HOST = Host(
    name="kiro",
    title="Kiro",
    mcp=McpSettings(
        file=lambda at: _folder(at) / "settings" / "mcp.json",
        signs=lambda at: (at.home / ".kiro",),
        programs=("kiro", "kiro-cli"),
        stdio=lambda server: stdio_entry(server) | _ALWAYS,
        http=http_entry("url", **_ALWAYS),
    ),
    hooks=Hooks(
        file=lambda at: _folder(at) / "hooks" / f"{NAME}.json",
        events=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"),
        entry=_hook_entry,
        read=_read_event,
        path=lambda _event: ("hooks",),
        always={"version": "v1"},
        starts=("SessionStart", "agentSpawn"),
        ends=("Stop", "agentStop"),
        hints={"UserPromptSubmit": "prompt", "promptSubmit": "prompt"},
        prompt_variable="USER_PROMPT",
    ),
    rule_files=RuleFiles(
        name="kiro",
        title="Kiro",
        signs=(".kiro",),
        files=file_per_group(lambda group: f".kiro/steering/{group.name}.md", _front_matter),
        patterns=(".kiro/steering/**/*.md",),
        skills=".kiro/skills",
        glob_keys=("fileMatchPattern",),
        on_demand=lambda fields: fields.get("inclusion") in ("manual", "auto"),
    ),
)
