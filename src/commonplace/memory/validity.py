"""When items hold, as somebody gives it or as their text says (text/validity.py reads that)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from commonplace.memory.remember import NewItem
from commonplace.model import Item
from commonplace.text.validity import NO_BOUND, parse_bound, read_validity


def is_read_from_text(item: Item) -> bool:
    """Whether the interval of an item is what its text says."""
    return (item.valid_from_ms, item.valid_until_ms) != (None, None) and follows_text(item)


def follows_text(item: Item) -> bool:
    """Whether nobody gave an item another interval than its text says, if that says any."""
    given = (item.valid_from_ms, item.valid_until_ms)
    return item.kind == "memory" and any(
        read_validity(item.body, stated_ms) == given for stated_ms in (item.created_ms, item.updated_ms)
    )


def with_validity(
    new: NewItem,
    now_ms: int,
    valid_from: datetime | int | str | None = None,
    valid_until: datetime | int | str | None = None,
    expires: datetime | int | str | None = None,
) -> NewItem:
    """A new item that holds from a moment, until another, and is hidden from a third on; `none` is no bound."""
    bounds = parse_validity(now_ms, valid_from, valid_until, expires)
    if not bounds:
        return new
    moments: dict[str, Any] = {name: None if ms == NO_BOUND else ms for name, ms in bounds.items()}
    start, end = moments.get("valid_from_ms"), moments.get("valid_until_ms")
    reads = new.reads_validity and not {"valid_from_ms", "valid_until_ms"} & bounds.keys()
    return replace(
        new, valid_from_ms=start, valid_until_ms=end, expires_ms=moments.get("expires_ms"), reads_validity=reads
    )


def parse_validity(
    now_ms: int,
    valid_from: datetime | int | str | None = None,
    valid_until: datetime | int | str | None = None,
    expires: datetime | int | str | None = None,
) -> dict[str, Any]:
    """The bounds that are given, by the names of an item's fields."""
    given = {
        "valid_from_ms": parse_bound(valid_from, now_ms, end=False),
        "valid_until_ms": parse_bound(valid_until, now_ms, end=True),
        "expires_ms": parse_bound(expires, now_ms, end=True),
    }
    return {name: bound for name, bound in given.items() if bound is not None}
