"""An event of a hook, the same for every host, and how a host's payload is made into one.

A payload is read without trust: any field may be missing, of another type, or spelled in camelCase or snake_case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from commonplace.fast.host_events import normalised_name
from commonplace.text.untrusted_json import parse_if_json

EventKind = Literal["session-start", "prompt", "tool", "compact", "stop", "subagent-stop", "session-end"]


class HookRecord(NamedTuple):
    """An event as the hook left it in the spool. `ended` is "whole" if all of its payload came."""

    name: str
    host: str
    event: str
    at_ms: int
    cwd: str
    prompt: str
    size: int
    ended: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a session of a host. Every field but the first two may be unknown, that is empty."""

    host: str
    kind: EventKind
    id: str = ""
    """What tells it from every other event: the same id again is the same event told again."""
    session: str = ""
    """What the host calls the session; the same name that its transcripts bear."""
    cwd: str = ""
    at_ms: int = 0
    text: str = ""
    """What was said: the prompt, the last answer at a stop, the summary of a compaction."""
    tool: str = ""
    """The host's own name of the tool that was used."""
    input: Mapping[str, object] = field(default_factory=dict)
    output: object = None
    failed: bool = False
    succeeded: bool = False
    """The host tells of this tool only if it went well; unknown if false."""
    partial: bool = False
    """It was too long to be taken whole: what it says is right, but not all."""
    reason: str = ""
    """Why a session started or ended: startup, resume, clear, compact, logout ..."""
    agent: str = ""
    """The sub-agent in which it happened; empty in the main thread."""
    transcript: str = ""


Details = Callable[["PayloadFields"], dict[str, Any]]
"""What a host tells at one of its events, as fields of an Event."""
EventTable = Mapping[str, tuple[EventKind, Details]]
"""By the name of the event, as `normalised_name` spells it."""

_FAILED = {"error", "failed", "failure"}
_CODES = ("exit_code", "exit_status", "return_code", "returncode")
# Where hosts put the exit code of a command, next to what it printed.
_AROUND_CODES = ("metadata", "result", "output", "response")
_DEEPEST = 4


class PayloadFields:
    """The fields of an object by their normalised names."""

    def __init__(self, fields: object) -> None:
        known = fields if isinstance(fields, Mapping) else {}
        self._fields = {normalised_name(name): value for name, value in known.items() if isinstance(name, str)}

    def any(self, *names: str) -> Any:
        """The first of these fields that is there and not null."""
        found = (self._fields.get(normalised_name(name)) for name in names)
        return next((value for value in found if value is not None), None)

    def text(self, *names: str) -> str:
        """The first of these fields that holds some text."""
        found = (self._fields.get(normalised_name(name)) for name in names)
        return next((value for value in found if isinstance(value, str) and value.strip()), "")

    def object(self, *names: str) -> dict[str, Any]:
        """The first of these fields, if it is an object or the JSON of one."""
        value = parse_if_json(self.any(*names))
        return value if isinstance(value, dict) else {} if value is None else {"input": value}

    def first(self, name: str) -> str:
        """The first entry of a list of texts."""
        value = self.any(name)
        return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""


def is_failure(output: Any) -> bool:
    """Whether the output of a tool says of itself that it is an error."""
    fields = PayloadFields(output)
    return (
        fields.any("is_error") is True
        or fields.any("success") is False
        or fields.text("status").lower() in _FAILED
        or bool(fields.text("error") or isinstance(fields.any("error"), dict))
        or bool(_number(fields.any(*_CODES)))
    )


def find_exit_code(output: Any, levels: int = _DEEPEST) -> int | None:
    """The exit code of a command, wherever its host puts that; of several the first that is not 0."""
    found = parse_if_json(output)
    if isinstance(found, list) and levels:
        codes = [code for entry in found[:20] if (code := find_exit_code(entry, levels - 1)) is not None]
        return next(filter(None, codes), codes[0] if codes else None)
    fields = PayloadFields(found)
    code = _number(fields.any(*_CODES))
    if code is None and levels:
        around = (fields.any(name) for name in _AROUND_CODES)
        inside = (find_exit_code(value, levels - 1) for value in around if value is not None)
        code = next((known for known in inside if known is not None), None)
    return code


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value) < 12:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def tool_details(fields: PayloadFields, output: Any, *, failed: bool = False) -> dict[str, Any]:
    """The use of a tool, as most hosts tell it."""
    return {
        "tool": fields.text("tool_name"),
        "input": fields.object("tool_input"),
        "output": output,
        "failed": failed or is_failure(output),
    }


def command_details(tool: str, command: str, cwd: str, output: Any, exit_code: Any) -> dict[str, Any]:
    """A command that was run, where a host has an event of its own for that."""
    given = {"command": command, "cwd": cwd}
    return {
        "tool": tool if command else "",
        "input": {name: value for name, value in given.items() if value},
        "output": output if exit_code is None else {"output": output, "exit_code": exit_code},
        "failed": is_failure({"exit_code": exit_code}),
    }


def make_event(record: HookRecord, kind: EventKind, fields: PayloadFields, **details: Any) -> Event | None:
    """The event with what nearly every host tells alike and `details`; None if it says nothing."""
    blank = Event(
        host=record.host,
        kind=kind,
        id=record.name,
        session=fields.text("session_id"),
        cwd=fields.text("cwd") or record.cwd,
        at_ms=record.at_ms,
        agent=fields.text("agent_id").removeprefix("agent-"),
        transcript=fields.text("transcript_path"),
        partial=record.ended != "whole",
    )
    event = replace(blank, **details)
    empty = (kind == "tool" and not event.tool) or (kind == "prompt" and not event.text)
    return None if empty else event


def event_from_table(
    table: EventTable, name: str, payload: Mapping[str, Any], record: HookRecord, **common: Any
) -> Event | None:
    """The event that a host calls `name`, by the host's table; None for one that is not in it."""
    row = table.get(normalised_name(name))
    if row is None:
        return None
    kind, details = row
    fields = PayloadFields(payload)
    return make_event(record, kind, fields, **{**common, **details(fields)})
