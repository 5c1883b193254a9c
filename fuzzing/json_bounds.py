"""Limits on JSON: a text that passes them is as small and as flat as they say, and one that is so passes them."""

from __future__ import annotations

import json
from typing import Any

from commonplace.errors import InvalidInput, TooLarge
from commonplace.text.untrusted_json import OBJECT_COUNTS, check_json
from fuzzing.target import must

MOST_VALUES, DEEPEST = 30, 5
WORDS = (
    *('"', "\\", '\\"', '"a"', '"\\\\"', "[", "]", "{", "}", ",", ":", "1", "null", " ", '{"a":', "[[", "]]", '"[,{"'),
)


def take(data: bytes) -> None:
    """Check it, parse it, and compare."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
        sound = False
    else:
        sound = True
    try:
        check_json(data, MOST_VALUES, max_depth=DEEPEST)
    except TooLarge:
        must(not sound or _weight(value) >= MOST_VALUES, "only what holds many values is too large")
        return
    except InvalidInput:
        must(not sound or _depth(value) > DEEPEST, "only what is nested deeply is refused for that")
        return
    if sound:
        must(_values(value) <= MOST_VALUES + 1, "no more values than allowed are let through")
        must(_depth(value) <= DEEPEST, "nothing deeper than allowed is let through")


def _inside(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []


def _values(value: Any) -> int:
    return 1 + sum(map(_values, _inside(value)))


def _weight(value: Any) -> int:
    """At least what the limit counts; a field that is named twice counts twice, though one of them is left."""
    own = OBJECT_COUNTS if isinstance(value, dict) else 1
    return 10**9 if isinstance(value, dict) else own + sum(map(_weight, _inside(value)))


def _depth(value: Any) -> int:
    return isinstance(value, (list, dict)) + max(map(_depth, _inside(value)), default=0)
