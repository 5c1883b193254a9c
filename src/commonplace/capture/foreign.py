"""What other products wrote, read without trust: its fields may be missing, of another type or nonsense."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import Conversation
from commonplace.memory.remember import EARLIEST_MS, LATEST_MS, MAX_TITLE
from commonplace.memory.take_in import Arrival, Replaced
from commonplace.text.redact import redact
from commonplace.text.summarise import title_of
from commonplace.text.times import moment

UNTITLED = "Untitled conversation"
# A name is taken from how a text begins, and this much of it is looked at.
_LOOKED_AT = 20_000

Unit = Literal["file", "project", "conversation", "message", "item", "link", "table", "column"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not taken over: what it is, where it stands, and why."""

    what: str
    why: str
    unit: Unit = "conversation"
    count: int = 1


Found = Conversation | Arrival | Replaced | Skipped
MAX_HELD = 1 << 28
"""Bytes of memory that the text of one value may take while it is read."""


class Stream(Protocol):
    """Where bytes come from."""

    def read(self, size: int = -1, /) -> bytes: ...


def max_held(stream: Stream) -> int:
    """How many bytes of memory a text from this stream may take: less for an upload that is small itself."""
    return int(getattr(stream, "max_held", MAX_HELD))


def text_in(data: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds some text."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def object_in(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def objects_in(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list; what else stands in it is nothing we could name."""
    value = data.get(name)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def seconds_in(data: Mapping[str, Any], name: str) -> int | None:
    """Seconds since 1970 as milliseconds; None where they are missing or no moment of any calendar."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LATEST_MS:
        return None
    return _moment(round(value * 1000))


def time_in(data: Mapping[str, Any], name: str) -> int | None:
    """An ISO 8601 time as milliseconds; None where it is missing or cannot be read."""
    try:
        return _moment(moment(text_in(data, name), local=False))
    except InvalidInput:
        return None


def _moment(ms: int) -> int | None:
    return ms if EARLIEST_MS <= ms <= LATEST_MS else None


def label_of(title: str, first_words: str) -> str:
    """One line that names a conversation: its title, else how it begins. Secrets go before either is cut."""
    return redact(" ".join(title.split()))[:MAX_TITLE] or title_of(redact(first_words[:_LOOKED_AT])) or UNTITLED


def digest(*parts: object) -> str:
    """A short name for something that its source gave none."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
