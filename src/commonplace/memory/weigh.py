"""Weigh: how important a message looks by what is in it. A guess from its form; people and agents can say better."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.conversations import DEFAULT_IMPORTANCE
from commonplace.memory.fetch import fetch_one
from commonplace.model import Item
from commonplace.text.tokens import words_of

MOST = 10.0
_LONG = 300
_CODE = re.compile(r"```|~~~|^ {4}\S", re.MULTILINE)
_WEIGHTY = frozenset(
    "agreed always blocker breaking bug critical deadline decided decision fixed important must never required"
    " requirement root security urgent warning".split()
)


@dataclass(frozen=True, slots=True)
class Weight:
    """A score from 0 to 10, and what adds up to it."""

    item: Item
    score: float
    factors: Mapping[str, float]

    @property
    def reason(self) -> str:
        found = [name for name, value in self.factors.items() if value and name != "base"]
        return f"It has {', '.join(found)}." if found else "Nothing in it stands out."


def weigh(book: Book, id_: int | str) -> Weight:
    """How important a message looks. One that somebody rated has that rating."""
    item = fetch_one(book, id_)
    if item.importance is not None:
        return Weight(item, item.importance, {"base": item.importance})
    weighty = _WEIGHTY.intersection(words_of(item.text))
    factors = {
        "base": DEFAULT_IMPORTANCE,
        "length": 0.5 if len(item.text) > _LONG else 0.0,
        "code": 1.0 if _CODE.search(item.text) else 0.0,
        "weighty words": min(3.0, 1.0 * len(weighty)),
        "a question": 0.5 if item.text.rstrip().endswith("?") else 0.0,
        "small talk": -2.0 if len(words_of(item.text)) < 4 else 0.0,
    }
    return Weight(item, max(0.0, min(MOST, sum(factors.values()))), factors)
