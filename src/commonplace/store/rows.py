"""Rows as values: what every engine reads in the same order, what is indexed of it, what a change keeps of what was.

Both engines index the same columns, so that a query means the same on either.

A search reads a hundred items, so making them is written for speed. A damaged row is read as far as it can be
(damaged_values.py): the object has a readable value in every field, and names those that are damaged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, cast

from commonplace.model import KINDS, MESSAGE_ROLES, SOURCE_FIELDS, VALIDITY_FIELDS, Change, Item, Kind, Session
from commonplace.store.damaged_values import (
    STATUSES,
    UID,
    Reader,
    damaged_item,
    damaged_session,
    kind_of,
    parsed,
    text_of,
    texts_of,
)
from commonplace.store.records import RECORD_KINDS, RecordKind
from commonplace.store.types import Turn
from commonplace.text.dates import EARLIEST_MS, LATEST_MS

# In the order of the full-text table; `scope` follows them there and cannot be named in a query.
COLUMNS = ("title", "subtitle", "text", "narrative", "facts", "concepts", "files", "tags", "type", "speaker")

# How much a word in each column counts for BM25; the last is `scope`, which only filters.
WEIGHTS = (4.0, 1.5, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 0.5, 0.5, 0.0)

# Names that a query may use, and the column each one means.
QUERY_COLUMNS: Mapping[str, str] = {name: name for name in COLUMNS} | {
    "body": "text",
    "content": "text",
    "files_read": "files",
    "files_modified": "files",
    "file": "files",
    "path": "files",
    "tag": "tags",
    "request": "title",
    "task": "title",
    "investigated": "text",
    "learned": "text",
    "completed": "text",
    "next_steps": "text",
    "notes": "text",
    "role": "speaker",
}

# Said of each row of an item that was split: queries that filter look at the whole of it instead. The double mark keeps
# it apart from any word of a text.
PART = "==part"

# A message of so few characters is understood by what was said before it: by the last so many characters of that.
SHORT_MESSAGE, CONTEXT_CHARACTERS = 200, 300

_SUMMARY_TEXT = ("investigated", "learned", "completed", "next_steps", "notes")
_CHECKPOINT_TEXT = ("progress", "next_steps", "open_questions")
_EVENT_TEXT = ("subtitle", "narrative", "facts")
# All details that are part of what an item says, of whatever kind it is.
TEXT_DETAILS = tuple(dict.fromkeys((*_EVENT_TEXT, "concepts", *_SUMMARY_TEXT, *_CHECKPOINT_TEXT)))

# Details of fewer letters are kept as they were read.
CACHED_DETAILS = 64
# Items of less text are kept as they were made, so many of them.
CACHED_TEXT, CACHED_ITEMS = 2_000, 1_024
# What the fields of a session are in a row that is whole, in their order.
_NUMBER, _MAYBE, _NAME = (int,), (int, type(None)), (str, type(None))
_SESSION_TYPES = (
    *(_NUMBER, (str,), (str,), (str,), _NAME, (str,), (str,), (str,), (float, int), (str,)),
    *(_NUMBER, _NUMBER, _NUMBER, _MAYBE, _NUMBER, _NUMBER, _NUMBER, _NUMBER, _MAYBE),
)
# What the fields of an item are in a row that is whole, in their order; tags are read by themselves.
_ITEM_TYPES = (
    *(_NUMBER, (str,), (str,), (str,), (str,), (str,), (str,), (str,), _NAME, _NAME, (str, list, type(None))),
    *((float, int, type(None)), (str,), _NUMBER, _NUMBER, _NUMBER, _NUMBER, _MAYBE, _MAYBE, (bytes, memoryview)),
    *(_MAYBE, _MAYBE, _MAYBE, _NAME, _NAME, _NAME),
)
_SET_FIELDS = tuple(getattr(Item, field.name).__set__ for field in fields(Item))
_JSON = json.JSONDecoder()
_TEXT, _TEXTS = frozenset([str]), (str,) * 4


def item_of(row: Sequence[Any]) -> Item:
    """An item from its columns, which stand in the order of its fields; tags are a list, or the text of a JSON list."""
    types = tuple(map(type, row))
    if types[4:8] == _TEXTS and types[10] is not list and sum(map(len, row[4:8])) < CACHED_TEXT:
        return _same_item(tuple(row), types)
    return _new_item(row, types)


def _new_item(row: Sequence[Any], types: tuple[type, ...]) -> Item:
    id_, uid, kind, type_, title, body, details, meta, project, session, tags, *rest = row
    try:
        texts = _short_texts(details) if len(details) < CACHED_DETAILS else _texts(details)
        more = {} if meta == "{}" else json.loads(meta)
        named = () if not tags else tuple(json.loads(tags) if type(tags) is str else cast("Sequence[str]", tags))
    except (ValueError, TypeError, RecursionError):
        return damaged_item(row)
    if not (
        _has_item_types(types)
        and UID(uid)
        and kind in KINDS
        and row[12] in STATUSES
        and type(more) is dict
        and _are_texts(named)
        and EARLIEST_MS <= row[14] <= LATEST_MS
        and EARLIEST_MS <= row[15] <= LATEST_MS
    ):
        return damaged_item(row)
    # A search reads a hundred of them: setting the slots takes a third of what the constructor of a frozen class does.
    item = Item.__new__(Item)
    values = (id_, uid, kind, type_, title, body, texts, more, project, session, named, *rest, {})
    for set_field, value in zip(_SET_FIELDS, values, strict=True):
        set_field(item, value)
    return item


# What many questions find is made once, until one of its columns changes. 1 and 1.0 are not the same there.
_same_item = lru_cache(maxsize=CACHED_ITEMS)(_new_item)


@lru_cache(maxsize=256)
def _has_item_types(found: tuple[type, ...]) -> bool:
    return _are_types(found, _ITEM_TYPES)


@lru_cache(maxsize=256)
def _short_texts(text: str) -> Mapping[str, str]:
    """Short details are much the same from message to message, and read once."""
    return _texts(text)


def _texts(text: str) -> Mapping[str, str]:
    try:
        # As `json.loads` does it, without looking for an encoding and white space.
        details, end = _JSON.raw_decode(text)
    except ValueError:
        end = -1
    if end != len(text):
        details = json.loads(text)
    if type(details) is not dict or not _are_texts(details.values()):
        raise ValueError("not an object of texts")
    return details


def _are_texts(values: Any) -> bool:
    return {*map(type, values)} <= _TEXT


def session_of(row: Sequence[Any]) -> Session:
    """A session from its columns, which stand in the order of its fields."""
    id_, uid, key, source, project, label, folder, status, importance, meta = row[:10]
    try:
        metadata = {} if meta == "{}" else json.loads(meta)
    except (ValueError, TypeError, RecursionError):
        return damaged_session(row)
    if not (
        _are_types(tuple(map(type, row)), _SESSION_TYPES) and UID(uid) and status in STATUSES and type(metadata) is dict
    ):
        return damaged_session(row)
    return Session(id_, uid, key, source, project, label, folder, status, importance, metadata, *row[10:])


def change_of(rev: object, op: object, at_ms: object, before: object, *by: object) -> Change:
    """A line of a history; what cannot be read of it is left out. `by` is its author and origin, where it has them."""
    read = Reader()
    return Change(
        read.integer("rev", rev),
        read.text("op", op),
        read.integer("at_ms", at_ms),
        read.json_object("before", before),
        *(read.text_or_none("by", one) for one in by),
    )


def refused_of(value: object) -> tuple[tuple[RecordKind, str], ...]:
    """The names of what a peer would not take; none where that cannot be read, so that it is offered again."""
    found = parsed(value)
    pairs = found if isinstance(found, list) else ()
    return tuple(
        (one[0], str(one[1])) for one in pairs if isinstance(one, list) and len(one) == 2 and one[0] in RECORD_KINDS
    )


def columns_of(
    kind: Kind, type_: str, title: str, body: str, details: Mapping[str, str], tags: tuple[str, ...]
) -> dict[str, str]:
    """The text of each index column for one item."""
    get = details.get
    columns = {"title": title, "text": body, "type": type_, "tags": " ".join(tags)}
    if kind == "summary":
        columns["text"] = _joined(body, *(get(name, "") for name in _SUMMARY_TEXT))
    elif kind == "checkpoint":
        columns["text"] = _joined(body, *(get(name, "") for name in _CHECKPOINT_TEXT))
        columns["files"] = get("relevant_files", "")
    elif kind == "message":
        columns["title"] = ""
        columns["speaker"] = _joined(get("role", ""), get("speaker", ""))
        columns["files"] = get("files", "")
    else:
        for name in _EVENT_TEXT:
            columns[name] = get(name, "")
        # Where nothing else is said, what an item is tagged with is what it is about.
        columns["concepts"] = get("concepts", "") or columns["tags"]
        columns["files"] = _joined(get("files_read", ""), get("files_modified", ""), get("paths", ""))
    return columns


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def embedding_text(
    kind: Kind, type_: str, title: str, body: str, details: Mapping[str, str], tags: tuple[str, ...]
) -> str:
    """The text that stands for the item when its meaning is compared: its words, each said once."""
    if not (details or tags) and kind != "message":
        # Nothing but a title and a text, as most statements are.
        begun, whole = _without_ellipsis(title), _without_ellipsis(body)
        return whole if begun in whole else f"{begun}\n{whole}" if whole and whole not in begun else begun
    columns = columns_of(kind, type_, title, body, details, tags)
    parts: list[str] = []
    for name in ("title", "subtitle", "narrative", "text", "facts", "concepts"):
        part = _without_ellipsis(columns.get(name, ""))
        if part and not any(part in other for other in parts):
            parts = [other for other in parts if other not in part]
            parts.append(part)
    return "\n".join(parts)


def _without_ellipsis(text: str) -> str:
    """A title cut short by "…" is still the beginning of its text."""
    return text.strip().removesuffix("…").rstrip()


def with_speaker(speaker: str, text: str) -> str:
    """What somebody said, with who said it."""
    return f"{speaker}: {text}" if speaker and text else text


def spoken_passage(speaker: str, text: str) -> str:
    """What a model reads of a message: with who said it, unless it is long and that is only a role.

    "user: " before a few words helps to understand them; before a long text it makes all of a user's alike.
    """
    return text if speaker in MESSAGE_ROLES and len(text) > SHORT_MESSAGE else with_speaker(speaker, text)


def passage_text(text: object, kind: object, type_: object, title: object, body: object, details: object) -> str:
    """The text that stands for a passage: its own, or its item's where it is the whole of it."""
    if text is not None:
        return text if type(text) is str else text_of(text)
    own, texts = (type_, title, body), _texts_or_none(details)
    if kind in KINDS and texts is not None and _are_texts(own):
        return embedding_text(kind, *cast("tuple[str, str, str]", own), texts, ())
    return embedding_text(kind_of(kind), text_of(type_), text_of(title), text_of(body), texts_of(details), ())


def speaker_of(details: object) -> str:
    """Who said something, by name or else by role."""
    texts = {} if details is None else _details_of(details)
    return texts.get("speaker") or texts.get("role", "")


def turn_of(row: Sequence[Any]) -> Turn:
    """A turn from the id of its item and of its session, its details and the id of the next one."""
    _id, session_id, details, next_id = row
    texts = _details_of(details)
    return Turn(session_id, texts.get("speaker", ""), texts.get("role", ""), next_id)


def _details_of(details: object) -> Mapping[str, str]:
    found = _texts_or_none(details)
    return texts_of(details) if found is None else found


def _texts_or_none(details: object) -> Mapping[str, str] | None:
    """The texts of a JSON object; None where they are damaged."""
    if type(details) is not str:
        return None
    try:
        return _short_texts(details) if len(details) < CACHED_DETAILS else _texts(details)
    except (ValueError, RecursionError):
        return None


def session_before(session: Session) -> Mapping[str, object]:
    """What a change keeps of a session as it was."""
    names = ("label", "folder", "status", "importance", "meta", "project", "forgotten_ms")
    return {name: getattr(session, name) for name in names} | _damage_of(session)


def item_before(item: Item) -> Mapping[str, object]:
    """What a change keeps of an item as it was."""
    names = ("type", "title", "body", "details", "meta", "project", "tags", "importance", "forgotten_ms")
    extra = {name: getattr(item, name) for name in (*VALIDITY_FIELDS, *SOURCE_FIELDS)}
    was = {name: getattr(item, name) for name in (*names, "superseded_by")}
    return was | {name: value for name, value in extra.items() if value is not None} | _damage_of(item)


def state_before_planned_end(
    lines: Sequence[tuple[str, Mapping[str, object]]], now: Mapping[str, object]
) -> Mapping[str, object] | None:
    """What a live item was before something that is still to come superseded it and so gave it its end.

    `lines` are its history, (op, before), and `now` is what it is. None if it has no such end, or no longer.
    """
    waiting: list[Mapping[str, object]] = []
    states = [*(before for _op, before in lines[1:]), now]
    for (op, before), after in zip(lines, states if lines else (), strict=True):
        if op == "supersede":
            waiting.append(before)
        elif op == "restore":
            undone = before.get("superseded_by") is not None or before.get("forgotten_ms") is None
            # What was superseded twice without being restored comes back at once.
            while undone and waiting and waiting.pop().get("superseded_by") is not None:
                pass
        elif before.get("valid_until_ms") != after.get("valid_until_ms"):
            waiting.clear()
    live = now.get("superseded_by") is None and now.get("forgotten_ms") is None
    return waiting[-1] if live and waiting else None


def _damage_of(one: Item | Session) -> dict[str, object]:
    return {"damaged": dict(one.damaged)} if one.damaged else {}


@lru_cache(maxsize=256)
def _are_types(found: tuple[type, ...], types: tuple[tuple[type, ...], ...]) -> bool:
    """Whether the values of a row have the types of their fields. Most rows are alike."""
    return all(one in allowed for one, allowed in zip(found, types, strict=True))
