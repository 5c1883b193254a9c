"""An item from its row.

A search reads a hundred of them, so that this is written for speed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, cast

from commonplace.model import KINDS, Item
from commonplace.store.damaged_values import UID
from commonplace.store.rows import STATUSES, damaged_item, has_types
from commonplace.text.dates import EARLIEST_MS, LATEST_MS

# Details of fewer letters are kept as they were read.
CACHED_DETAILS = 64
# Items of less text are kept as they were made, so many of them.
CACHED_TEXT, CACHED_ITEMS = 2_000, 1_024
# What the fields of an item are in a row that is whole, in their order; tags are read by themselves.
_NUMBER, _MAYBE, _NAME = (int,), (int, type(None)), (str, type(None))
_TYPES = (
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
        return damaged_item(row)
    if not (
        _has_types(tuple(map(type, row)))
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


@lru_cache(maxsize=256)
def _has_types(found: tuple[type, ...]) -> bool:
    return has_types(found, _TYPES)


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
