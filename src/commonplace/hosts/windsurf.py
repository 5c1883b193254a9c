"""Windsurf: mcp_config.json and hooks.json in ~/.codeium/windsurf; it reads neither from projects.

To its hooks every event is an action with `tool_info`; a trajectory is a session, and nothing tells when one starts.
Its rules are .windsurf/rules/*.md, each with a trigger. It cuts long files off, so ours are kept short enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.fast.host_events import normalised_name
from commonplace.hosts.hook_event import (
    Event,
    EventTable,
    HookRecord,
    PayloadFields,
    command_details,
    is_failure,
    make_event,
)
from commonplace.hosts.host import Entry, Hooks, Host, Locations, McpSettings, RuleFiles, http_entry
from commonplace.hosts.rule_file_parts import comma_globs, write
from commonplace.hosts.rule_files import RuleFile, RuleGroup, group_rules
from commonplace.text.untrusted_json import parse_if_json

if TYPE_CHECKING:
    from commonplace.memory.rules import Rule, RuleSet

# A file may have 12,000 characters now; it was 6,000, and still is in older versions.
_LIMIT = 6_000
# Markers, note and blank lines.
_AROUND = 300


def _folder(at: Locations) -> Path:
    return at.home / ".codeium" / "windsurf"


def _hook_entry(_event: str, command: str) -> Entry:
    # What it runs on Windows has a key of its own.
    return {"powershell" if command.startswith("& ") else "command": command, "show_output": False}


def _write(info: PayloadFields) -> dict[str, Any]:
    path, edits = info.text("file_path"), info.any("edits")
    given = {"file_path": path, "edits": edits} if isinstance(edits, list) else {"file_path": path}
    return {"tool": "write_code" if path else "", "input": given}


def _read(info: PayloadFields) -> dict[str, Any]:
    path = info.text("file_path")
    return {"tool": "read_code" if path else "", "input": {"file_path": path}}


def _run(info: PayloadFields) -> dict[str, Any]:
    command, output = info.text("command_line", "command"), info.any("output", "result")
    return command_details("run_command", command, info.text("cwd"), output, info.any("exit_code"))


def _mcp(info: PayloadFields) -> dict[str, Any]:
    server, tool = info.text("mcp_server_name"), info.text("mcp_tool_name")
    output = parse_if_json(info.any("mcp_result", "result"))
    return {
        "tool": f"mcp__{server}__{tool}" if server and tool else tool,
        "input": info.object("mcp_tool_arguments"),
        "output": output,
        "failed": is_failure(output),
    }


# Each reads `tool_info`.
_ACTIONS: EventTable = {
    "preuserprompt": ("prompt", lambda info: {"text": info.text("user_prompt", "prompt")}),
    "postwritecode": ("tool", _write),
    "postreadcode": ("tool", _read),
    "postruncommand": ("tool", _run),
    "postmcptooluse": ("tool", _mcp),
    "postcascaderesponse": ("stop", lambda info: {"text": info.text("response")}),
    "postcascaderesponsewithtranscript": ("stop", lambda info: {"transcript": info.text("transcript_path")}),
}


def _read_event(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    row, fields = _ACTIONS.get(normalised_name(name)), PayloadFields(payload)
    if row is None:
        return None
    kind, details = row
    session = fields.text("trajectory_id", "session_id")
    return make_event(record, kind, fields, session=session, **details(PayloadFields(fields.object("tool_info"))))


def _files(rules: RuleSet, root: Path) -> list[RuleFile]:
    files = []
    for group in group_rules(rules):
        front = _front_matter(group)
        for number, portion in enumerate(_portions(group.rules, _LIMIT - _AROUND - len(front)), 1):
            name = group.name if number == 1 else f"{group.name}-{number}"
            files.append(RuleFile(f".windsurf/rules/{name}.md", front, portion))
    return files


def _front_matter(group: RuleGroup) -> str:
    if not group.paths:
        return write([("trigger", "always_on")])
    return write([("trigger", "glob"), ("globs", comma_globs(group.paths))])


def _portions(rules: tuple[Rule, ...], room: int) -> Iterator[tuple[Rule, ...]]:
    """Rules in order, as many to a file as fit; one that fits nowhere has a file of its own."""
    # Whoever connects an editor writes no rules.
    from commonplace.hosts.rules_markdown import heading_of

    portion: list[Rule] = []
    headings: set[object] = set()
    used = 0
    for rule in rules:
        needed = _length(rule, headings)
        if portion and used + needed > room:
            yield tuple(portion)
            portion, headings, used = [], set(), 0
            needed = _length(rule, headings)
        portion.append(rule)
        headings |= {heading_of(rule), (heading_of(rule), rule.paths)}
        used += needed
    yield tuple(portion)


def _length(rule: Rule, headings: set[object]) -> int:
    from commonplace.hosts.rules_markdown import heading_of, list_item, path_heading

    heading = heading_of(rule)
    length = len(list_item(rule)) + 1
    if heading not in headings:
        length += len(heading) + 7
    if rule.paths and (heading, rule.paths) not in headings:
        length += len(path_heading(rule.paths)) + 4
    return length


HOST = Host(
    name="windsurf",
    title="Windsurf",
    mcp=McpSettings(
        file=lambda at: None if at.project else _folder(at) / "mcp_config.json",
        signs=lambda at: (_folder(at),),
        programs=("windsurf",),
        http=http_entry("serverUrl"),
    ),
    hooks=Hooks(
        file=lambda at: None if at.project else _folder(at) / "hooks.json",
        events=(
            *("pre_user_prompt", "post_read_code", "post_write_code", "post_run_command"),
            *("post_mcp_tool_use", "post_cascade_response"),
        ),
        entry=_hook_entry,
        read=_read_event,
        windows="powershell",
        ends=("post_cascade_response", "post_cascade_response_with_transcript"),
    ),
    rule_files=RuleFiles(
        name="windsurf",
        title="Windsurf",
        signs=(".windsurf", ".windsurfrules"),
        files=_files,
        patterns=(".windsurf/rules/**/*.md",),
        skills=".windsurf/skills",
        older=(".windsurfrules",),
        glob_keys=("globs", "glob"),
        on_demand=lambda fields: fields.get("trigger") in ("manual", "model_decision"),
        limit=_LIMIT,
    ),
)
