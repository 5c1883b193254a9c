"""Near-duplicates of long texts: a sketch is a few hashes of a text's lines, enough to see that two are much the same.

The smallest hashes of a set stay the smallest when it grows, so sketches are merged without the text (bottom-k).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator

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
