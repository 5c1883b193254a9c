"""Near-duplicates: texts with nearly the same words, and long ones with nearly the same lines.

Short texts are compared by their sets of words. A sketch is a few hashes of a long text's lines, enough to see that two
are much the same: the smallest hashes of a set stay the smallest when it grows, so sketches are merged without the text
(bottom-k).
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import Generic, TypeVar

# From this share of common words two texts are the same, and from this one they are similar.
SAME_TEXT, SIMILAR_TEXT = 0.9, 0.7
# The words of so many texts of at most so many characters are remembered: what one question reads, the next finds read.
REMEMBERED, SHORT_ENOUGH = 512, 2_000

_T = TypeVar("_T")
_WORD = re.compile(r"\w+")
_Words = frozenset[str]


class WordSets(Generic[_T]):
    """The words of items, each read once. `text` is what an item says, and `key` what it is known by."""

    def __init__(self, text: Callable[[_T], str], key: Callable[[_T], Hashable] | None = None) -> None:
        self._text, self._key = text, key or text
        self._known: dict[Hashable, _Words] = {}

    def of(self, item: _T) -> _Words:
        key = self._key(item)
        known = self._known.get(key)
        if known is None:
            text = self._text(item)
            known = self._known[key] = _words_again(text) if len(text) <= SHORT_ENOUGH else _words_in(text)
        return known


def _words_in(text: str) -> _Words:
    return frozenset(_WORD.findall(text.lower()))


_words_again = lru_cache(maxsize=REMEMBERED)(_words_in)


def _are_alike(one: _Words, other: _Words, same: float) -> bool:
    """Whether two sets share at least this part of all their words."""
    size, others = len(one), len(other)
    # Sets of very different sizes cannot be alike.
    if size < same * others or others < same * size:
        return False
    shared = len(one & other)
    return shared >= same * (size + others - shared)


def drop_near_duplicates(items: Iterable[_T], sets: WordSets[_T], same: float = SAME_TEXT) -> list[_T]:
    """Items in order, without those with almost the same words as an earlier one."""
    distinct_items: list[_T] = []
    # Words are numbered as they appear: the highest numbers of a set are its rarest words, because common ones come
    # early. Two sets that are alike up to this share have one of their first few in common, in the same order for all.
    numbers: dict[str, int] = {}
    holding: defaultdict[int, list[_Words]] = defaultdict(list)
    for item in items:
        words = sets.of(item)
        rarest = sorted([numbers.setdefault(word, len(numbers)) for word in words], reverse=True) or [-1]
        rarest = rarest[: len(words) - ceil(same * len(words)) + 1]
        others = [other for number in rarest if number in holding for other in holding[number]]
        if not any(_are_alike(words, other, same) for other in others):
            distinct_items.append(item)
            for number in rarest:
                holding[number].append(words)
    return distinct_items


def first_per_key(items: Iterable[_T], keys: Callable[[_T], Collection[Hashable]]) -> list[_T]:
    """Items in order, without those that have a key in common with an earlier one; those without keys all stay."""
    distinct_items: list[_T] = []
    seen: set[Hashable] = set()
    for item in items:
        names = keys(item)
        if seen.isdisjoint(names):
            distinct_items.append(item)
            seen.update(names)
    return distinct_items


def group_near_duplicates(items: Sequence[_T], sets: WordSets[_T], same: float = SIMILAR_TEXT) -> list[list[_T]]:
    """Groups of two and more with nearly the same words as their first, in the order of the items."""
    words = [sets.of(item) for item in items]
    groups: list[list[_T]] = []
    taken: set[int] = set()
    for first, own in enumerate(words):
        if first in taken:
            continue
        others = [n for n in range(first + 1, len(items)) if n not in taken and _are_alike(own, words[n], same)]
        if others:
            taken.update(others)
            groups.append([items[n] for n in (first, *others)])
    return groups


SKETCH_SIZE = 24

Sketch = frozenset[int]


def sketch(texts: Iterable[str]) -> Sketch:
    """The smallest hashes among the lines of some texts."""
    lines = {line for text in texts for line in _lines(text.casefold())}
    return _smallest(_hash(line) for line in lines if line)


def merge_sketches(*sketches: Sketch) -> Sketch:
    """The sketch of all the texts together."""
    return _smallest(frozenset().union(*sketches))


def sketch_similarity(one: Sketch, other: Sketch) -> float:
    """Which share of the lines two texts have in common, 0 to 1; exact for short ones, an estimate for long ones."""
    together = merge_sketches(one, other)
    return len(together & one & other) / len(together) if together else 0.0


def pack_sketch(made: Sketch) -> bytes:
    return struct.pack(f">{len(made)}Q", *sorted(made))


def unpack_sketch(data: bytes) -> Sketch:
    return frozenset(struct.unpack(f">{len(data) // 8}Q", data))


def _lines(text: str) -> Iterator[str]:
    """Lines with single blanks in them; most texts have no others, and need not be looked at word by word."""
    if "  " in text or "\t" in text or not text.isascii():
        return (" ".join(line.split()) for line in text.splitlines())
    return (line.strip() for line in text.splitlines())


def _hash(line: str) -> int:
    return int.from_bytes(hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _smallest(hashes: Iterable[int]) -> Sketch:
    return frozenset(sorted(hashes)[:SKETCH_SIZE])
