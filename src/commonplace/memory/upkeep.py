"""Upkeep: whether the store is whole and its indexes hold what they should, and making the words of it anew."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.memory.book import Book
from commonplace.store.upkeep import IndexState

__all__ = ["IndexState", "complaints", "index_state", "mend_words"]

# Items in one transaction, so that others who write do not wait for long.
_STEP = 200


def complaints(book: Book, seconds: float) -> Sequence[str]:
    """What a check of the file finds wrong; empty if it is well."""
    return book.store.complaints(seconds)


def index_state(book: Book, seconds: float) -> IndexState:
    return book.store.index_state(seconds)


def mend_words(book: Book, *, anew: bool = False) -> int:
    """Index what cannot be found by words, `anew` everything; how many rows were written or taken away."""
    if anew:
        book.store.clear_words()
    mended = 0
    while step := book.store.mend_words(_STEP):
        mended += step
    return mended
