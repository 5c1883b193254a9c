"""Claude Code, and Codex, which calls things by the same names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from commonplace.hosts.hook_event import Event, EventKind, HookRecord, PayloadFields, failed, make_event, plain

_KINDS: Mapping[str, EventKind] = {
    "sessionstart": "session-start",
    "userpromptsubmit": "prompt",
    "posttooluse": "tool",
    "posttoolusefailure": "tool",
    "precompact": "compact",
    "postcompact": "compact",
    "stop": "stop",
    "subagentstop": "subagent-stop",
    "sessionend": "session-end",
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl\Z)")


def adapt(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    """The event; None where there is nothing in it for a memory."""
    kind, told = _KINDS.get(plain(name)), PayloadFields(payload)
    if kind is None:
        return None
    event = make_event(record, kind, told, **_known(kind, told, plain(name)))
    if kind == "tool" and record.host == "claude-code":
        event = replace(event, succeeded=not event.failed and _is_finished(PayloadFields(event.output)))
    if not event.session and (found := _UUID.search(event.transcript)):
        event = replace(event, session=found[0])
    empty = (kind == "tool" and not event.tool) or (kind == "prompt" and not event.text)
    return None if empty else event


def _is_finished(output: PayloadFields) -> bool:
    """Claude Code tells of failures by another name, but not of what was interrupted or runs on."""
    return not (output.any("interrupted") or output.any("background_task_id"))


def _known(kind: EventKind, told: PayloadFields, name: str) -> dict[str, Any]:
    if kind == "tool":
        output, wrong = told.any("tool_response", "tool_output", "tool_result"), name.endswith("failure")
        return {
            "tool": told.text("tool_name"),
            "input": told.object("tool_input"),
            "output": told.any("error", "tool_response") if wrong else output,
            "failed": wrong or failed(output),
        }
    if kind == "prompt":
        return {"text": told.text("prompt", "user_prompt")}
    if kind == "compact":
        return {"text": told.text("compact_summary", "summary"), "reason": told.text("trigger")}
    if kind in ("stop", "subagent-stop"):
        return {"text": told.text("last_assistant_message")}
    return {"reason": told.text("source", "reason")}
