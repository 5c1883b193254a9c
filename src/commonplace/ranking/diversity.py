"""Saying a thing once: near-duplicates of something better placed are left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

# The share of words in common from which on two texts say the same, and from which on they say nearly the same.
SAME, NEARLY = 0.9, 0.7

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


def one_for_each(items: Iterable[_T], key: Callable[[_T], Hashable | None]) -> list[_T]:
    """Items in order, the first of each key; those without a key all stay."""
    kept: list[_T] = []
    seen: set[Hashable] = set()
    for item in items:
        name = key(item)
        if name is None or name not in seen:
            kept.append(item)
        if name is not None:
            seen.add(name)
    return kept


def groups_alike(items: Sequence[_T], text: Callable[[_T], str], same: float = NEARLY) -> list[list[_T]]:
    """The groups of two and more whose words are nearly those of their first, in the order of the items."""
    words = [frozenset(_WORD.findall(text(item).lower())) for item in items]
    groups: list[list[_T]] = []
    taken: set[int] = set()
    for first in range(len(items)):
        if first in taken:
            continue
        alike = [n for n in range(first, len(items)) if n not in taken and _alike(words[first], words[n], same)]
        taken.update(alike)
        if len(alike) > 1:
            groups.append([items[n] for n in alike])
    return groups


def _alike(a: frozenset[Hashable], b: frozenset[Hashable], same: float) -> bool:
    # The lengths alone bound what can be shared.
    if len(a) < same * len(b) or len(b) < same * len(a):
        return False
    shared = len(a & b)
    return shared >= same * (len(a) + len(b) - shared)
