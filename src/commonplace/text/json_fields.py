"""Fields of JSON objects from outside, read without trust: they may be missing, of another type or nonsense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from commonplace.errors import InvalidInput
from commonplace.text.dates import EARLIEST_MS, LATEST_MS, parse_time


def text_in(data: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds some text; empty if none does."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def as_object(value: object) -> dict[str, Any]:
    """An object, given as it is or written as JSON; empty where it is neither."""
    if isinstance(value, dict):
        return value
    try:
        found = json.loads(value) if isinstance(value, str | bytes) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def object_in(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A field that is an object; empty if it is anything else."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a field that is a list; other entries are ignored."""
    value = data.get(name)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def seconds_in(data: Mapping[str, Any], name: str) -> int | None:
    """Seconds since 1970 as milliseconds; None if missing or outside the calendar."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LATEST_MS:
        return None
    return _within_calendar(round(value * 1000))


def time_in(data: Mapping[str, Any], name: str) -> int | None:
    """An ISO 8601 time as milliseconds; None if missing or unreadable."""
    try:
        return _within_calendar(parse_time(text_in(data, name), local=False))
    except InvalidInput:
        return None


def parse_if_json(value: Any) -> Any:
    """The object or list that a string spells as JSON; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _within_calendar(ms: int) -> int | None:
    return ms if EARLIEST_MS <= ms <= LATEST_MS else None
