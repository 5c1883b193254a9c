"""From a record in the spool to an event: its payload is opened, mended if it was cut, and adapted."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from commonplace.capture.hooks.adapters.table import ADAPTERS
from commonplace.capture.hooks.spool_reader import UnreadableEvent
from commonplace.hosts.hook_event import Event, HookRecord

# As deep as a payload may be nested to be mended.
_DEEPEST = 200


def read_event(record: HookRecord) -> Event | None:
    """The event of a record; None if it says nothing to a memory. Unreadable, with a reason, if it is nonsense."""
    adapt = ADAPTERS.get(record.host)
    if adapt is None:
        raise UnreadableEvent("unknown-host")
    event = adapt(record.event, _payload(record), record)
    if event is None and record.ended == "silent" and not record.prompt:
        # Its host may have had something to say, and came too late.
        raise UnreadableEvent("silent")
    return event


def _payload(record: HookRecord) -> dict[str, Any]:
    if not record.payload.strip(b" \t\r\n\0"):
        return {}
    try:
        text = record.payload.decode("utf-8-sig", "strict" if record.ended == "whole" else "ignore")
    except UnicodeDecodeError:
        raise UnreadableEvent("not-text") from None
    try:
        found = json.loads(text if record.ended == "whole" else close_truncated_json(text))
    except RecursionError:
        raise UnreadableEvent("too-deep") from None
    except ValueError as error:
        raise UnreadableEvent("truncated" if _ends_early(text, error) else "not-json") from None
    if not isinstance(found, dict):
        raise UnreadableEvent("not-an-object")
    return found


def close_truncated_json(text: str) -> str:
    """JSON that was cut somewhere, closed again: what was open ends there, and what was not yet told is left out."""
    closers: list[str] = []
    inside = escaped = False
    # Where a value or a member ended last, and what had to be closed there.
    safe, at_safe = 0, ""
    for position, letter in enumerate(text):
        if inside:
            inside = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            inside = True
        elif letter in "{[":
            closers.append("}" if letter == "{" else "]")
            safe, at_safe = position + 1, "".join(reversed(closers))
        elif letter in "}]" and closers:
            closers.pop()
            safe, at_safe = position + 1, "".join(reversed(closers))
        elif letter == ",":
            safe, at_safe = position, "".join(reversed(closers))
        if len(closers) > _DEEPEST:
            raise UnreadableEvent("too-deep")
    whole = text[: -1 if escaped else None] + ('"' if inside else "") + "".join(reversed(closers))
    try:
        json.loads(whole)
    except ValueError:
        return text[:safe] + at_safe
    return whole


def _ends_early(text: str, error: ValueError) -> bool:
    at = getattr(error, "pos", 0)
    return at >= len(text.rstrip()) or "Unterminated" in str(error)


TAIL_BYTES = 1 << 20
"""Bytes of the end of a transcript that are looked at."""
# Clocks of a host and of its hook differ a little, and a transcript may be written just after the hook was started.
_SLACK_MS = 2_000
_TEXTS = ("text", "output_text")


def with_last_answer(event: Event) -> Event:
    """The event of a stop with the answer that its transcript ends with, if the payload had none."""
    if event.kind != "stop" or event.text.strip() or event.agent or not event.transcript.endswith(".jsonl"):
        return event
    return replace(event, text=_last_answer(_end_of(event.transcript), event.at_ms))


def _end_of(path: str) -> list[bytes]:
    """The last whole lines of a plain file, the newest first; none if it cannot be read."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return []
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return []
        start = max(0, found.st_size - TAIL_BYTES)
        os.lseek(descriptor, start, os.SEEK_SET)
        lines = b"".join(iter(lambda: os.read(descriptor, TAIL_BYTES), b"")).split(b"\n")
    except OSError:
        return []
    finally:
        os.close(descriptor)
    return lines[: 0 if start else None : -1]


def _last_answer(newest_first: Iterable[bytes], stopped_ms: int) -> str:
    """What the agent had said last when it stopped: its newest message, which may be written as several lines."""
    message, parts = "", list[str]()
    for line in newest_first:
        record = _object(line)
        if record is None or (stopped_ms and _time(record) > stopped_ms + _SLACK_MS):
            continue
        if _is_prompt(record):
            if not stopped_ms or _time(record) <= stopped_ms:
                break
            # The next turn had begun: what was collected answers it.
            message, parts = "", []
            continue
        text = "\n\n".join(_texts(record))
        if text:
            name = _message_id(record)
            if parts and (not name or name != message):
                break
            message, parts = name, [text, *parts]
    return "\n\n".join(parts)


def _texts(record: Mapping[str, Any]) -> Iterator[str]:
    """The texts of one line, if the agent's main thread said them."""
    if record.get("isSidechain") is True or record.get("isApiErrorMessage") is True:
        return
    if str(record.get("type", "")).casefold() == "planner_response":
        inner = record.get("planner_response")
        yield from _strings(inner.get("response") if isinstance(inner, Mapping) else record.get("content"))
        return
    for holder in (record.get("message"), record.get("payload"), record):
        if isinstance(holder, Mapping) and _role(record, holder) == "assistant":
            yield from _strings(holder.get("content"))
            return


def _strings(content: object) -> Iterator[str]:
    if isinstance(content, str) and content.strip():
        yield content.strip()
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            yield from _strings(part["text"])


def _is_prompt(record: Mapping[str, Any]) -> bool:
    """Whether a person spoke: what was answered before belongs to another turn. Tool results are no prompts."""
    if record.get("isSidechain") is True or record.get("isMeta") is True:
        return False
    if str(record.get("type", "")).casefold() == "user_input":
        return True
    for holder in (record.get("message"), record.get("payload"), record):
        if isinstance(holder, Mapping) and _role(record, holder) == "user":
            content = holder.get("content")
            parts = content if isinstance(content, list) else []
            return isinstance(content, str) or any(
                isinstance(part, Mapping) and part.get("type") in ("text", "input_text") for part in parts
            )
    return False


def _role(record: Mapping[str, Any], holder: Mapping[str, Any]) -> str:
    role = holder.get("role") or (record.get("role") or record.get("type") if holder is not record else "")
    return role if isinstance(role, str) else ""


def _message_id(record: Mapping[str, Any]) -> str:
    message = record.get("message")
    name = message.get("id") if isinstance(message, Mapping) else None
    return name if isinstance(name, str) else ""


def _time(record: Mapping[str, Any]) -> int:
    """When a line was written; 0 if it does not say."""
    stamp = record.get("timestamp")
    if isinstance(stamp, str):
        try:
            return int(datetime.fromisoformat(stamp).timestamp() * 1000)
        except (ValueError, OverflowError):
            return 0
    return 0


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
