"""Windsurf: every event is an action with `tool_info`; a trajectory is a session, and nothing tells when it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from commonplace.hosts.hook_event import (
    Event,
    EventKind,
    HookRecord,
    PayloadFields,
    failed,
    make_event,
    parse_json_text,
    plain,
    ran,
)

Known = Callable[[PayloadFields], dict[str, Any]]


def adapt(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    """The event; None where there is nothing in it for a memory."""
    told, row = PayloadFields(payload), _EVENTS.get(plain(name))
    if row is None:
        return None
    kind, known = row
    about = PayloadFields(told.object("tool_info"))
    session = told.text("trajectory_id", "session_id")
    event = make_event(record, kind, told, **{"session": session, **known(about)})
    empty = (kind == "tool" and not event.tool) or (kind == "prompt" and not event.text)
    return None if empty else event


def _write(about: PayloadFields) -> dict[str, Any]:
    path = about.text("file_path")
    edits = about.any("edits")
    given = {"file_path": path, "edits": edits} if isinstance(edits, list) else {"file_path": path}
    return {"tool": "write_code" if path else "", "input": given}


def _read(about: PayloadFields) -> dict[str, Any]:
    path = about.text("file_path")
    return {"tool": "read_code" if path else "", "input": {"file_path": path}}


def _run(about: PayloadFields) -> dict[str, Any]:
    given = {"command": about.text("command_line", "command"), "cwd": about.text("cwd")}
    return {
        "tool": "run_command" if given["command"] else "",
        "input": {name: value for name, value in given.items() if value},
        **ran(about.any("output", "result"), about.any("exit_code")),
    }


def _mcp(about: PayloadFields) -> dict[str, Any]:
    server, tool = about.text("mcp_server_name"), about.text("mcp_tool_name")
    output = parse_json_text(about.any("mcp_result", "result"))
    return {
        "tool": f"mcp__{server}__{tool}" if server and tool else tool,
        "input": about.object("mcp_tool_arguments"),
        "output": output,
        "failed": failed(output),
    }


_EVENTS: Mapping[str, tuple[EventKind, Known]] = {
    "preuserprompt": ("prompt", lambda about: {"text": about.text("user_prompt", "prompt")}),
    "postwritecode": ("tool", _write),
    "postreadcode": ("tool", _read),
    "postruncommand": ("tool", _run),
    "postmcptooluse": ("tool", _mcp),
    "postcascaderesponse": ("stop", lambda about: {"text": about.text("response")}),
    "postcascaderesponsewithtranscript": ("stop", lambda about: {"transcript": about.text("transcript_path")}),
}
