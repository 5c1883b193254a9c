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
        if not any(_alike(words, other, same) for other in seen):
            kept.append(item)
            seen.append(words)
    return kept


def _alike(a: frozenset[Hashable], b: frozenset[Hashable], same: float) -> bool:
    # The lengths alone bound what can be shared.
    if len(a) < same * len(b) or len(b) < same * len(a):
        return False
    shared = len(a & b)
    return shared >= same * (len(a) + len(b) - shared)
