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
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import lru_cache
from math import ceil
from typing import Generic, TypeVar

# From this share of common words two texts are the same, and from this one they are similar.
SAME_TEXT, SIMILAR_TEXT = 0.9, 0.7
# The words of so many texts of at most so many characters are remembered: what one question reads, the next finds read.
REMEMBERED, SHORT_ENOUGH = 1_024, 2_000

_T = TypeVar("_T")
_WORD = re.compile(r"\w+")
_BETWEEN_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def _words_in(text: str) -> tuple[str, ...]:
    """The distinct words of a text. Splitting at blanks is much faster than a regular expression."""
    lower = text.lower()
    return tuple(dict.fromkeys(lower.translate(_BETWEEN_WORDS).split() if lower.isascii() else _WORD.findall(lower)))


_words_again = lru_cache(maxsize=REMEMBERED)(_words_in)


class WordSets(Generic[_T]):
    """The sets of words of items, each read once. `text` is what an item says, and `key` what it is known by.

    Words are numbered as they appear, so that the highest numbers of a set are its rarest words, because common ones
    come early.
    """

    def __init__(self, text: Callable[[_T], str], key: Callable[[_T], Hashable] | None = None) -> None:
        self._text, self._key = text, key or text
        self._numbers: dict[str, int] = {}
        self._known: dict[Hashable, _WordSet] = {}

    def of(self, item: _T) -> _WordSet:
        key = self._key(item)
        known = self._known.get(key)
        if known is None:
            text, numbers = self._text(item), self._numbers
            words = _words_again(text) if len(text) <= SHORT_ENOUGH else _words_in(text)
            known = _WordSet(sorted([numbers.setdefault(word, len(numbers)) for word in words], reverse=True))
            self._known[key] = known
        return known


class _WordSet:
    """The numbers of the words of a text, the highest first."""

    __slots__ = ("_bits", "_numbers", "size")

    def __init__(self, numbers: list[int]) -> None:
        self._numbers, self.size = numbers, len(numbers)
        self._bits: int | None = None

    def rarest(self, same: float) -> list[int]:
        """So many words that a set which is the same up to this share holds one of them."""
        return self._numbers[: self.size - ceil(same * self.size) + 1] or [-1]

    def is_like(self, other: _WordSet, same: float) -> bool:
        shared = (self.bits & other.bits).bit_count()
        return shared >= same * (self.size + other.size - shared)

    @property
    def bits(self) -> int:
        """An integer with a bit for each word: such are compared much faster than sets. Most never are."""
        if self._bits is None:
            held = bytearray((self._numbers[0] >> 3) + 1) if self._numbers else bytearray()
            for number in self._numbers:
                held[number >> 3] |= 1 << (number & 7)
            self._bits = int.from_bytes(held, "little")
        return self._bits


def drop_near_duplicates(items: Iterable[_T], sets: WordSets[_T], same: float = SAME_TEXT) -> list[_T]:
    """Items in order, without those with almost the same words as an earlier one."""
    return [group[0] for group in _alike(items, sets, same)]


def group_near_duplicates(items: Iterable[_T], sets: WordSets[_T], same: float = SIMILAR_TEXT) -> list[list[_T]]:
    """Groups of two and more with nearly the same words as their first, in the order of the items."""
    return [group for group in _alike(items, sets, same) if len(group) > 1]


def _alike(items: Iterable[_T], sets: WordSets[_T], same: float) -> list[list[_T]]:
    """Each item with the later ones that are like it, and like none before it."""
    groups: list[list[_T]] = []
    # By their rarest words, the first sets of the groups: one that is like another has one of those in common with it.
    holding: defaultdict[int, list[int]] = defaultdict(list)
    firsts: list[_WordSet] = []
    for item in items:
        own = sets.of(item)
        rarest = own.rarest(same)
        others = sorted({place for number in rarest if number in holding for place in holding[number]})
        found = next((place for place in others if own.is_like(firsts[place], same)), None)
        if found is not None:
            groups[found].append(item)
            continue
        for number in rarest:
            holding[number].append(len(groups))
        firsts.append(own)
        groups.append([item])
    return groups


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
