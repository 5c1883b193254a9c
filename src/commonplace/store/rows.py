"""Rows as values: what every engine reads in the same order, and what a change keeps of what was.

A search reads a hundred items, so making them is written for speed. A damaged row is read as far as it can be
(damaged_values.py): the object has a readable value in every field, and names those that are damaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, cast

from commonplace.model import KINDS, SOURCE_FIELDS, VALIDITY_FIELDS, Change, Item, Kind, Session
from commonplace.store.damaged_values import UID, Reader, parsed, text_of, texts_of
from commonplace.store.indexed_text import embedding_text
from commonplace.store.records import RECORD_KINDS, RecordKind
from commonplace.text.dates import EARLIEST_MS, LATEST_MS

# Details of fewer letters are kept as they were read.
CACHED_DETAILS = 64
# Items of less text are kept as they were made, so many of them.
CACHED_TEXT, CACHED_ITEMS = 2_000, 1_024
STATUSES = ("active", "archived", "pinned")
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
_TEXT = frozenset([str])


def item_of(row: Sequence[Any]) -> Item:
    """An item from its columns, which stand in the order of its fields; tags are a list, or the text of a JSON list."""
    texts = row[4:8]
    if {*map(type, texts)} == _TEXT and sum(map(len, texts)) < CACHED_TEXT and type(row[10]) is not list:
        return _same_item(tuple(row), tuple(map(type, row)))
    return _new_item(row)


@lru_cache(maxsize=CACHED_ITEMS)
def _same_item(row: tuple[Any, ...], _types: tuple[type, ...]) -> Item:
    """What many questions find is made once, until one of its columns changes. 1 and 1.0 are not the same there."""
    return _new_item(row)


def _new_item(row: Sequence[Any]) -> Item:
    id_, uid, kind, type_, title, body, details, meta, project, session, tags, *rest = row
    try:
        texts = _short_texts(details) if len(details) < CACHED_DETAILS else _texts(details)
        more = {} if meta == "{}" else json.loads(meta)
        named = () if not tags else tuple(json.loads(tags) if type(tags) is str else cast("Sequence[str]", tags))
    except (ValueError, TypeError, RecursionError):
        return _damaged_item(row)
    if not (
        _has_item_types(tuple(map(type, row)))
        and UID(uid)
        and kind in KINDS
        and row[12] in STATUSES
        and type(more) is dict
        and _are_texts(named)
        and EARLIEST_MS <= row[14] <= LATEST_MS
        and EARLIEST_MS <= row[15] <= LATEST_MS
    ):
        return _damaged_item(row)
    # A search reads a hundred of them: setting the slots takes a third of what the constructor of a frozen class does.
    item = Item.__new__(Item)
    values = (id_, uid, kind, type_, title, body, texts, more, project, session, named, *rest, {})
    for set_field, value in zip(_SET_FIELDS, values, strict=True):
        set_field(item, value)
    return item


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
        return _damaged_session(row)
    if not (
        _are_types(tuple(map(type, row)), _SESSION_TYPES) and UID(uid) and status in STATUSES and type(metadata) is dict
    ):
        return _damaged_session(row)
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


def kind_of(value: object) -> Kind:
    """The kind of an item, of a row whose damage is reported elsewhere."""
    return cast("Kind", Reader().choice("kind", value, KINDS, "observation"))


def passage_text(text: object, kind: object, type_: object, title: object, body: object, details: object) -> str:
    """The text that stands for a passage: its own, or its item's where it is the whole of it."""
    if text is not None:
        return text_of(text)
    return embedding_text(kind_of(kind), text_of(type_), text_of(title), text_of(body), texts_of(details), ())


def speaker_of(details: object) -> str:
    """Who said something, by name or else by role."""
    texts = {} if details is None else texts_of(details)
    return texts.get("speaker") or texts.get("role", "")


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


def _damaged_item(row: Sequence[Any]) -> Item:
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


def _damaged_session(row: Sequence[Any]) -> Session:
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
