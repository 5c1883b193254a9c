"""One neutral event: what any host's hook tells, in our words. Adapters make it, all after them read only it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

EventKind = Literal["session-start", "prompt", "tool", "compact", "stop", "subagent-stop", "session-end"]


@dataclass(frozen=True, slots=True)
class HookRecord:
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


_FAILED = {"error", "failed", "failure"}
_CODES = ("exit_code", "exit_status", "return_code", "returncode")
# Where hosts put what a command exited with, beside what it printed.
_ABOUT = ("metadata", "result", "output", "response")
_DEEPEST = 4


def plain(name: str) -> str:
    """A name as all spellings of it share it."""
    return name.replace("_", "").replace("-", "").lower()


class PayloadFields:
    """The fields of an object by their plain names."""

    def __init__(self, fields: object) -> None:
        known = fields if isinstance(fields, Mapping) else {}
        self._fields = {plain(name): value for name, value in known.items() if isinstance(name, str)}

    def any(self, *names: str) -> Any:
        """The first of these fields that is there and not null."""
        found = (self._fields.get(plain(name)) for name in names)
        return next((value for value in found if value is not None), None)

    def text(self, *names: str) -> str:
        """The first of these fields that holds some text."""
        found = (self._fields.get(plain(name)) for name in names)
        return next((value for value in found if isinstance(value, str) and value.strip()), "")

    def object(self, *names: str) -> dict[str, Any]:
        """The first of these fields, if it is an object or the JSON of one."""
        value = parse_json_text(self.any(*names))
        return value if isinstance(value, dict) else {} if value is None else {"input": value}

    def first(self, name: str) -> str:
        """The first entry of a list of texts."""
        value = self.any(name)
        return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""


def parse_json_text(value: Any) -> Any:
    """What a text holds that is JSON of an object or a list; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def failed(output: Any) -> bool:
    """Whether the answer of a tool says of itself that it is an error."""
    told = PayloadFields(output)
    return (
        told.any("is_error") is True
        or told.any("success") is False
        or told.text("status").lower() in _FAILED
        or bool(told.text("error") or isinstance(told.any("error"), dict))
        or bool(_number(told.any(*_CODES)))
    )


def find_exit_code(output: Any, levels: int = _DEEPEST) -> int | None:
    """What a command exited with, wherever its host puts that; the first that is not 0 of several."""
    found = parse_json_text(output)
    if isinstance(found, list) and levels:
        codes = [code for entry in found[:20] if (code := find_exit_code(entry, levels - 1)) is not None]
        return next(filter(None, codes), codes[0] if codes else None)
    told = PayloadFields(found)
    code = _number(told.any(*_CODES))
    if code is None and levels:
        inside = (find_exit_code(told.any(name), levels - 1) for name in _ABOUT if told.any(name) is not None)
        code = next((known for known in inside if known is not None), None)
    return code


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value) < 12:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def ran(output: Any, code: Any) -> dict[str, Any]:
    """What a command printed, and what it exited with if that is told."""
    told = output if code is None else {"output": output, "exit_code": code}
    return {"output": told, "failed": failed({"exit_code": code})}


def make_event(record: HookRecord, kind: EventKind, told: PayloadFields, **known: Any) -> Event:
    """An event with what nearly every host tells alike; `known` is what this one tells."""
    blank = Event(
        host=record.host,
        kind=kind,
        id=record.name,
        session=told.text("session_id"),
        cwd=told.text("cwd") or record.cwd,
        at_ms=record.at_ms,
        agent=told.text("agent_id").removeprefix("agent-"),
        transcript=told.text("transcript_path"),
        partial=record.ended != "whole",
    )
    return replace(blank, **known)
