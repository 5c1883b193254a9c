"""Saying a thing once: near-duplicates of something better placed are left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

SAME = 0.9

_T = TypeVar("_T")
_WORD = re.compile(r"\w+")


def distinct(items: Iterable[_T], text: Callable[[_T], str], same: float = SAME) -> list[_T]:
    """Items in order, without those whose words are almost those of an earlier one."""
    kept: list[_T] = []
    seen: list[frozenset[Hashable]] = []
    for item in items:
        words = frozenset(_WORD.findall(text(item).lower()))
        if not any(_overlap(words, other) >= same for other in seen):
            kept.append(item)
            seen.append(words)
    return kept


def _overlap(a: frozenset[Hashable], b: frozenset[Hashable]) -> float:
    if not a and not b:
        return 1.0
    shorter, longer = sorted((len(a), len(b)))
    if longer == 0 or shorter / longer < SAME:
        return 0.0
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared)
