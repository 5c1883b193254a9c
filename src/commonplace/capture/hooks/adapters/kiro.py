"""Kiro: the IDE speaks like Claude Code; the command line has names of its own, and old versions tell the prompt only
in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.hosts.hook_event import Event, HookRecord, PayloadFields, failed, make_event, parse_json_text, plain


def adapt(name: str, payload: Mapping[str, Any], record: HookRecord) -> Event | None:
    """The event; None where there is nothing in it for a memory."""
    told, name = PayloadFields(payload), plain(name)
    if name in ("agentspawn", "sessionstart"):
        return make_event(record, "session-start", told, reason=told.text("source"))
    if name in ("userpromptsubmit", "promptsubmit"):
        text = told.text("prompt", "user_prompt") or record.prompt
        return make_event(record, "prompt", told, text=text) if text.strip() else None
    if name == "posttooluse" and told.text("tool_name"):
        output = told.any("tool_response", "tool_output")
        return make_event(
            record,
            "tool",
            told,
            tool=told.text("tool_name"),
            input=told.object("tool_input"),
            output=_answer(output),
            failed=failed(output),
        )
    if name in ("stop", "agentstop"):
        return make_event(record, "stop", told, text=told.text("assistant_response", "last_assistant_message"))
    if name == "sessionend":
        return make_event(record, "session-end", told, reason=told.text("reason"))
    return None


def _answer(output: Any) -> Any:
    """Results may be objects, written as text."""
    results = output.get("result") if isinstance(output, Mapping) else None
    return {**output, "result": list(map(parse_json_text, results))} if isinstance(results, list) else output
