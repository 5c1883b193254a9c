"""From a record in the spool to an event: its payload is opened, mended if it was cut, and adapted."""

from __future__ import annotations

import json
from typing import Any

from commonplace.capture.hooks.adapters.table import ADAPTERS
from commonplace.capture.hooks.event import Event
from commonplace.capture.hooks.waiting import Record, Unreadable

# As deep as a payload may be nested to be mended.
_DEEPEST = 200


def event_in(record: Record) -> Event | None:
    """The event of a record; None if it says nothing to a memory. Unreadable, with a reason, if it is nonsense."""
    adapt = ADAPTERS.get(record.host)
    if adapt is None:
        raise Unreadable("unknown-host")
    event = adapt(record.event, _payload(record), record)
    if event is None and record.ended == "silent" and not record.prompt:
        # Its host may have had something to say, and came too late.
        raise Unreadable("silent")
    return event


def _payload(record: Record) -> dict[str, Any]:
    if not record.payload.strip(b" \t\r\n\0"):
        return {}
    try:
        text = record.payload.decode("utf-8-sig", "strict" if record.ended == "whole" else "ignore")
    except UnicodeDecodeError:
        raise Unreadable("not-text") from None
    try:
        found = json.loads(text if record.ended == "whole" else mended(text))
    except RecursionError:
        raise Unreadable("too-deep") from None
    except ValueError as error:
        raise Unreadable("truncated" if _ends_early(text, error) else "not-json") from None
    if not isinstance(found, dict):
        raise Unreadable("not-an-object")
    return found


def mended(text: str) -> str:
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
            raise Unreadable("too-deep")
    whole = text[: -1 if escaped else None] + ('"' if inside else "") + "".join(reversed(closers))
    try:
        json.loads(whole)
    except ValueError:
        return text[:safe] + at_safe
    return whole


def _ends_early(text: str, error: ValueError) -> bool:
    at = getattr(error, "pos", 0)
    return at >= len(text.rstrip()) or "Unterminated" in str(error)
