"""What is left of a damaged value: text that is not UTF-8, JSON that does not parse, a value of the wrong type.

A row with such a value is read as far as it can be. Every value has a readable form, and the object that is made of the
row names its damaged fields with what was found there, so that a person can see and correct them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from commonplace.model import KINDS, Item, Kind, Session
from commonplace.text.dates import EARLIEST_MS, LATEST_MS

UID = re.compile("[0-9a-f-]{36}").fullmatch
STATUSES = ("active", "archived", "pinned")
# So much of what was found is shown to people.
_SHOWN = 200


class DamagedText(str):
    """Text whose bytes are not UTF-8, with U+FFFD in the places of what cannot be decoded."""

    __slots__ = ("raw",)
    raw: bytes

    def __new__(cls, raw: bytes) -> DamagedText:
        text = super().__new__(cls, raw.decode("utf-8", "replace"))
        text.raw = raw
        return text


class DamagedRow(NamedTuple):
    """A row with values that cannot be read as they should be: what people call it, and its damaged fields."""

    name: str
    fields: tuple[str, ...]


class Reader:
    """Reads the values of one row, and notes which of them are damaged: the field, and what was found in it."""

    def __init__(self) -> None:
        self.damaged: dict[str, str] = {}

    def text(self, name: str, value: object, default: str = "") -> str:
        if type(value) is str:
            return value
        self._note(name, value)
        if isinstance(value, str):
            # Plain from here on.
            return "".join(value)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else default

    def uid(self, name: str, value: object) -> str:
        text = self.text(name, value)
        if not UID(text):
            self._note(name, value)
        return text

    def text_or_none(self, name: str, value: object) -> str | None:
        return None if value is None else self.text(name, value)

    def choice(self, name: str, value: object, choices: Sequence[str], default: str) -> str:
        """One of a few words; the nearest of them where it is none, and a default where none is near."""
        if isinstance(value, str) and value in choices:
            return value
        self._note(name, value)
        return nearest(str(self.text(name, value)), choices, default)

    def integer(self, name: str, value: object, default: int = 0) -> int:
        if type(value) is int:
            return value
        self._note(name, value)
        return int(value) if isinstance(value, float) and abs(value) < 2**62 else default

    def moment(self, name: str, value: object) -> int:
        """Milliseconds since 1970; one that is on no calendar is kept, since rows are ordered by it."""
        ms = self.integer(name, value)
        if not EARLIEST_MS <= ms <= LATEST_MS:
            self._note(name, value)
        return ms

    def integer_or_none(self, name: str, value: object) -> int | None:
        return None if value is None else self.integer(name, value)

    def number_or_none(self, name: str, value: object) -> float | None:
        if value is None or type(value) is float or type(value) is int:
            return value
        self._note(name, value)
        return None

    def binary(self, name: str, value: object) -> bytes:
        if isinstance(value, (bytes, memoryview)):
            return bytes(value)
        self._note(name, value)
        return b""

    def json_object(self, name: str, value: object) -> dict[str, Any]:
        """A JSON object; empty where it is none."""
        found = parsed(value)
        if isinstance(found, dict) and type(value) is str:
            return found
        self._note(name, value)
        return found if isinstance(found, dict) else {}

    def json_texts(self, name: str, value: object) -> dict[str, str]:
        """A JSON object of texts; entries of other types are left out."""
        found = self.json_object(name, value)
        if all(type(entry) is str for entry in found.values()):
            return found
        self._note(name, value)
        return {key: entry for key, entry in found.items() if type(entry) is str}

    def json_list(self, name: str, value: object) -> list[str]:
        """A JSON list of texts; entries of other types are left out."""
        found = parsed(value)
        if isinstance(found, list) and type(value) is str and all(type(entry) is str for entry in found):
            return found
        self._note(name, value)
        return [entry for entry in found if type(entry) is str] if isinstance(found, list) else []

    def _note(self, name: str, value: object) -> None:
        self.damaged.setdefault(name, shown(value))


def parsed(value: object) -> Any:
    """What a JSON text says; None where it does not parse."""
    if not isinstance(value, (str, bytes)):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def object_of(value: object) -> dict[str, Any]:
    """A JSON object of a row whose damage is reported elsewhere; empty where it cannot be read."""
    return Reader().json_object("", value)


def texts_of(value: object) -> Mapping[str, str]:
    """A JSON object of texts, of a row whose damage is reported elsewhere."""
    return Reader().json_texts("", value)


def text_of(value: object) -> str:
    """A text of a row whose damage is reported elsewhere."""
    return Reader().text("", value)


def kind_of(value: object) -> Kind:
    """The kind of an item, of a row whose damage is reported elsewhere."""
    return cast("Kind", Reader().choice("kind", value, KINDS, "observation"))


def list_of(value: object) -> list[str]:
    """A JSON list of texts, or an array of PostgreSQL, of a row whose damage is reported elsewhere."""
    return value if isinstance(value, list) else Reader().json_list("", value)


def content_checksum(title: str | bytes, body: str | bytes, details: str | bytes) -> bytes:
    """What tells the content of an item, as it is stored, from the same content with a bit flipped."""
    parts = (part.encode("utf-8", "replace") if isinstance(part, str) else part for part in (title, body, details))
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).digest()


def shown(value: object) -> str:
    """A damaged value for people, cut short."""
    if value is None:
        return "nothing"
    text = bytes(value).decode("utf-8", "replace") if isinstance(value, (bytes, memoryview)) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def nearest(word: str, choices: Sequence[str], default: str) -> str:
    """The choice that differs from a damaged word in the fewest places, if most of it is still there."""
    different = {
        choice: sum(a != b for a, b in zip(word, choice, strict=True)) for choice in choices if len(choice) == len(word)
    }
    best = min(different, key=lambda choice: different[choice], default=default)
    return best if best in different and different[best] <= len(best) // 3 else default


def damaged_item(row: Sequence[Any]) -> Item:
    """An item of a damaged row, as far as it can be read."""
    id_, uid, kind, type_, title, body, details, meta, project, session, tags, *rest = row
    importance, status, tokens, created_ms, updated_ms, rev, forgotten_ms, superseded_by, content_hash, *more = rest
    valid_from_ms, valid_until_ms, expires_ms, author, origin, review = more
    read = Reader()
    texts = read.json_texts("details", details)
    return Item(
        id_,
        read.uid("uid", uid),
        cast("Kind", read.choice("kind", kind, KINDS, _likely_kind(texts))),
        _type(read, type_),
        read.text("title", title),
        read.text("body", body),
        texts,
        read.json_object("meta", meta),
        # Damage of these is that of the project and of the session.
        Reader().text_or_none("project", project),
        Reader().text_or_none("session", session),
        tuple(read.json_list("tags", tags if isinstance(tags, (str, bytes)) else json.dumps(tags)) if tags else ()),
        read.number_or_none("importance", importance),
        read.choice("status", status, STATUSES, "active"),
        read.integer("tokens", tokens),
        read.moment("created_ms", created_ms),
        read.moment("updated_ms", updated_ms),
        read.integer("rev", rev, 1),
        read.integer_or_none("forgotten_ms", forgotten_ms),
        read.integer_or_none("superseded_by", superseded_by),
        read.binary("content_hash", content_hash),
        read.integer_or_none("valid_from_ms", valid_from_ms),
        read.integer_or_none("valid_until_ms", valid_until_ms),
        read.integer_or_none("expires_ms", expires_ms),
        read.text_or_none("author", author),
        read.text_or_none("origin", origin),
        read.text_or_none("review", review),
        read.damaged,
    )


def _type(read: Reader, value: object) -> str:
    """A type without what cannot be part of one."""
    text = read.text("type", value)
    return text if "type" not in read.damaged else re.sub(r"[^\w .:/-]", "", text).strip() or "note"


def _likely_kind(details: Mapping[str, str]) -> str:
    """What an item may be whose kind is lost: a message if somebody said it, else something that was noted."""
    return "message" if "role" in details else "memory"


def damaged_session(row: Sequence[Any]) -> Session:
    id_, uid, key, source, project, label, folder, status, importance, meta, *rest = row
    started_ms, ended_ms, updated_ms, accessed_ms, rev, messages, words, size, forgotten_ms = rest
    read = Reader()
    whole = read.uid("uid", uid)
    return Session(
        id_,
        # Where its uid is damaged, its number is what it can be looked up by.
        str(id_) if "uid" in read.damaged else whole,
        read.text("key", key),
        read.text("source", source),
        Reader().text_or_none("project", project),
        read.text("label", label),
        read.text("folder", folder, "/"),
        read.choice("status", status, STATUSES, "active"),
        _importance(read, importance),
        read.json_object("meta", meta),
        read.moment("started_ms", started_ms),
        read.moment("ended_ms", ended_ms),
        read.moment("updated_ms", updated_ms),
        read.integer_or_none("accessed_ms", accessed_ms),
        read.integer("rev", rev, 1),
        read.integer("messages", messages),
        read.integer("words", words),
        read.integer("bytes", size),
        read.integer_or_none("forgotten_ms", forgotten_ms),
        read.damaged,
    )


def _importance(read: Reader, value: object) -> float:
    number = read.number_or_none("importance", value)
    return 5.0 if number is None else number
