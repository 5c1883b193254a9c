"""Records: everything in a space that is not derived, without the ids of its engine, so that stores can be merged.

An item is identified by its uid, a session by its key and a project by its name. Whatever changes one of them moves it
to the end of the list, so that whoever has read up to a mark finds everything new after it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from commonplace.model import SOURCE_FIELDS, VALIDITY_FIELDS, Change, Draft, Item, Session
from commonplace.text.dates import DAY_MS

RecordKind = Literal["item", "session", "project"]
RECORD_KINDS: tuple[RecordKind, ...] = ("project", "session", "item")
"""In the order in which one needs the other."""
Name = tuple[RecordKind, str]

# Clocks may differ by so much. A later version is accepted from nobody, and does not win where it is.
CLOCK_SKEW_MS = DAY_MS

Result = Literal["added", "updated", "unchanged", "conflict", "same_as"]

# The fields in a line of a history, by which two versions are compared.
_HISTORY_FIELDS: Mapping[RecordKind, tuple[str, ...]] = {
    "item": ("type", "title", "body", "details", "meta", "project", "tags", "importance"),
    "session": ("label", "folder", "status", "importance", "meta", "project"),
    "project": (),
}
# Fields outside of the history that make two records different.
_STATE_FIELDS: Mapping[RecordKind, tuple[str, ...]] = {
    "item": ("kind", "session", "status", "created_ms"),
    "session": ("source", "started_ms"),
    "project": ("aliases",),
}
_SESSION = (
    *("uid", "source", "project", "label", "folder", "status", "importance", "meta"),
    *("started_ms", "updated_ms", "accessed_ms", "rev", "forgotten_ms"),
)
_ITEM = (
    *("kind", "type", "title", "body", "details", "meta", "project", "session", "importance", "status", "tokens"),
    *("created_ms", "updated_ms", "rev", "forgotten_ms", *VALIDITY_FIELDS, *SOURCE_FIELDS),
)


@dataclass(frozen=True, slots=True)
class Record:
    """One item, session or project, with what it was before each change.

    `version` is when it changed: later than the version it was made of, whatever clocks say. `seq` is its place in
    the walk of the store that it was read from.
    """

    what: RecordKind
    name: str
    version: int
    fields: Mapping[str, Any]
    history: tuple[Change, ...] = ()
    seq: int = 0

    @property
    def digest(self) -> str:
        """The same wherever it says the same, times and numbers of revisions aside."""
        return _hash([state_of(self), sorted(map(line_id, self.history))])


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record to merge, checked and cleaned; an item comes with the draft that it is written from."""

    record: Record
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an arrival. `took`: the record now has its content; `other` is the item with the same content."""

    what: RecordKind
    name: str
    result: Result
    took: bool = False
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """How far another space has been read and sent to, and the names of what it refused."""

    pulled: int = 0
    pushed: int = 0
    refused: tuple[Name, ...] = field(default=())


def item_record(item: Item, history: Sequence[Change], uids: Mapping[int, str], row: Sequence[Any]) -> Record:
    """An item as a record; `uids` has those of items that replaced others, `row` is seq, version and awaits."""
    seq, version, awaits = row
    fields = {name: getattr(item, name) for name in _ITEM}
    superseded = awaits if item.superseded_by is None else uids.get(item.superseded_by)
    fields |= {
        "tags": sorted(item.tags),
        "superseded_by": superseded,
        "content_hash": item.content_hash.hex(),
    }
    lines = (replace(one, before=_named(one.before, uids)) for one in history)
    return Record("item", item.uid, version, fields, tuple(lines), seq)


def session_record(session: Session, history: Sequence[Change], row: Sequence[Any]) -> Record:
    fields = {name: getattr(session, name) for name in _SESSION}
    return Record("session", session.key, row[1], fields, tuple(history), row[0])


def project_record(name: str, aliases: Sequence[str], created_ms: int, row: Sequence[Any]) -> Record:
    fields = {"aliases": sorted(alias for alias in aliases if alias != name.casefold()), "created_ms": created_ms}
    return Record("project", name, row[1], fields, (), row[0])


def replacement_ids(items: Sequence[Item], histories: Mapping[int, Sequence[Change]]) -> set[int]:
    """The ids of all items that replaced one of these, now or earlier."""
    before = (line.before.get("superseded_by") for lines in histories.values() for line in lines)
    return {one for one in (*(item.superseded_by for item in items), *before) if isinstance(one, int)}


def before_of(record: Record) -> dict[str, Any]:
    """The fields of a record that a line of its history has."""
    names = (*_HISTORY_FIELDS[record.what], "forgotten_ms", *(("superseded_by",) if record.what == "item" else ()))
    return {name: record.fields[name] for name in names} | _newer_fields(record.what, record.fields)


def content_of(what: RecordKind, fields: Mapping[str, Any]) -> list[Any]:
    """The content of a record, or of a line of its history; not when it was forgotten, or what replaced it.

    Lines are known by it in every store, also in those of earlier versions.
    """
    content = [_plain(name, fields.get(name)) for name in _HISTORY_FIELDS[what]]
    newer = _newer_fields(what, fields)
    # Each store calls people by the names that it knows them by.
    newer.pop("author", None)
    if fields.get("superseded_by") is not None:
        # Its end follows from when it was replaced.
        newer.pop("valid_until_ms", None)
    # Without these it is the same as in a store of an earlier version.
    more = [newer] if newer else []
    return [*content, fields.get("forgotten_ms") is not None, fields.get("superseded_by") is not None, *more]


def version_of(what: RecordKind, fields: Mapping[str, Any]) -> list[Any]:
    """The content of a record with what replaced it: one that is replaced by another item is another version."""
    by = fields.get("superseded_by")
    # Without one it is the same as in a store of an earlier version.
    return [content_of(what, fields), *([] if by is None else [by])]


def state_of(record: Record) -> list[Any]:
    state = [record.fields.get(name) for name in _STATE_FIELDS[record.what]]
    content, *by = version_of(record.what, record.fields)
    return [content, state, *by]


def state_hash(record: Record) -> str:
    return _hash(state_of(record))


def separate_hash(content_hash: bytes, uid: str) -> bytes:
    """The hash of an item that has the same content as another and stays a separate item."""
    return hashlib.sha256(content_hash + uid.encode()).digest()


def line_id(line: Change) -> str:
    """What identifies a line of a history in every store."""
    what: RecordKind = "item" if "body" in line.before else "session"
    return _hash([line.op, line.at_ms, content_of(what, line.before)])


def _named(before: Mapping[str, Any], uids: Mapping[int, str]) -> Mapping[str, Any]:
    number = before.get("superseded_by")
    return {**before, "superseded_by": uids.get(number)} if isinstance(number, int) else before


def _newer_fields(what: RecordKind, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those fields of an item that earlier versions do not know, as far as it has them."""
    names = (*VALIDITY_FIELDS, *SOURCE_FIELDS) if what == "item" else ()
    return {name: fields[name] for name in names if fields.get(name) is not None}


def _plain(name: str, value: Any) -> Any:
    if name == "tags":
        return sorted(value or ())
    if name == "details":
        return {key: text for key, text in (value or {}).items() if text}
    return float(value) if name == "importance" and value is not None else value


def _hash(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
