"""Texts that were searched for secrets and have none: what is read again and again need not be searched again.

Known by their hashes, which are keyed anew in each process, so that nobody can make a text that is taken for another.
"""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100_000

_hashes: set[int] = set()


def known_clean(text: str) -> bool:
    return hash(text) in _hashes


def not_known_clean(texts: Iterable[str]) -> list[str]:
    """Those of many texts that have to be searched."""
    return [text for text in texts if hash(text) not in _hashes]


def note_clean(texts: Iterable[str]) -> None:
    """Remember that these hold no secret, for as long as there is room."""
    if len(_hashes) >= MOST:
        _hashes.clear()
    _hashes.update(map(hash, texts))
