"""Cursor: conversations instead of sessions, workspace roots instead of a folder, an event of its own for each act."""

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
    # Hooks of the user run in Cursor's own folder, which is no project.
    folder = told.first("workspace_roots") or told.text("cwd") or ("" if _is_cursors(record.cwd) else record.cwd)
    event = make_event(
        record,
        kind,
        told,
        **{"session": told.text("conversation_id", "session_id"), "cwd": folder, **known(told)},
    )
    empty = (kind == "tool" and not event.tool) or (kind == "prompt" and not event.text)
    return None if empty else event


def _tool(told: PayloadFields) -> dict[str, Any]:
    output = parse_json_text(told.any("tool_output", "tool_response", "result_json"))
    error = told.text("error_message", "error")
    return {
        "tool": told.text("tool_name"),
        "input": told.object("tool_input"),
        "output": error or output,
        "failed": bool(error) or failed(output),
    }


def _command(told: PayloadFields) -> dict[str, Any]:
    given = {"command": told.text("command"), "cwd": told.text("cwd")}
    return {
        "tool": "Shell" if given["command"] else "",
        "input": {name: value for name, value in given.items() if value},
        **ran(told.any("output"), told.any("exit_code")),
    }


def _edit(told: PayloadFields) -> dict[str, Any]:
    path, edits = told.text("file_path"), told.any("edits")
    changed = [edit for edit in edits if isinstance(edit, Mapping)] if isinstance(edits, list) else []
    new = bool(changed) and not any(PayloadFields(edit).text("old_string") for edit in changed)
    if new:
        written = "\n".join(PayloadFields(edit).text("new_string") for edit in changed)
        return {"tool": "Write" if path else "", "input": {"file_path": path, "content": written}}
    return {"tool": "Edit" if path else "", "input": {"file_path": path, "edits": changed}}


def _is_cursors(folder: str) -> bool:
    return ".cursor" in folder.replace("\\", "/").split("/")


_EVENTS: Mapping[str, tuple[EventKind, Known]] = {
    "sessionstart": ("session-start", lambda told: {"reason": told.text("source", "trigger")}),
    "beforesubmitprompt": ("prompt", lambda told: {"text": told.text("prompt")}),
    "posttooluse": ("tool", _tool),
    "posttoolusefailure": ("tool", lambda told: {**_tool(told), "failed": True}),
    "aftermcpexecution": ("tool", _tool),
    "aftershellexecution": ("tool", _command),
    "afterfileedit": ("tool", _edit),
    "precompact": ("compact", lambda told: {"reason": told.text("trigger")}),
    "afteragentresponse": ("stop", lambda told: {"text": told.text("text")}),
    "stop": ("stop", lambda told: {"reason": told.text("status")}),
    "subagentstop": ("subagent-stop", lambda told: {"text": told.text("summary", "result"), "agent": _agent(told)}),
    "sessionend": ("session-end", lambda told: {"reason": told.text("reason")}),
}


def _agent(told: PayloadFields) -> str:
    return told.text("agent_id", "subagent_id", "subagent_type") or "subagent"
