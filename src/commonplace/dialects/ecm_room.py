"""A reply that is filled as long as it fits its tokens as serialised, and that tells whether anything was left out."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from commonplace.dialects.tool import Reply, as_json, notice
from commonplace.memory.book import Book
from commonplace.ranking.budget import tokens_of
from commonplace.text.redacted_data import redacted
from commonplace.text.summarise import cut

# What the counts may take beyond the zeros of an empty reply, and the comma between two entries.
_SLACK, _COMMA = 12, 1
_CHARACTERS = 4
_LONG = ("content", "summary")
# Characters that are left of a long text at least, and the lengths that are tried.
LEAST = 200
_LENGTHS = range(LEAST, 20_000, 20)

Shorten = Callable[[str, int], str]


class Room:
    """The room that `mcp_max_response` gives. Texts are measured as JSON, after their secrets are taken out."""

    def __init__(self, book: Book, empty: dict[str, Any], waiting: int = 0) -> None:
        self._most = book.settings.mcp_max_response
        told = notice(book, waiting)
        counted = {"truncated": False, "totalCount": 0, "returnedCount": 0}
        self._data = empty | counted | ({"notice": told} if told else {})
        self._used = len(as_json(redacted(self._data))) + _SLACK
        self._short = False

    def write(self, name: str, text: str, share: float) -> None:
        """A text of its own, cut where its share ends."""
        told = self._cut(redacted(text), self._spare(share))
        self._data[name] = told
        self._used += _cost(told)

    def fill(self, name: str, entries: Sequence[Any], share: float = 1.0, brief: int = 0) -> int:
        """Add entries in their order until one does not fit; how many did.

        Where `brief` is given, the long text of what does not fit is cut to that length; otherwise only that of the
        first entry is cut, so that there is an answer where there is one.
        """
        for number, entry in enumerate(entries):
            fitting = self._fitting(redacted(entry), self._spare(share), brief, first=not number)
            if fitting is None:
                self._short = True
                return number
            self._used += _cost(fitting) + _COMMA
            self._data[name].append(fitting)
        return len(entries)

    def share_out(self, name: str, entries: Sequence[Any], share: float, shorten: Shorten) -> int:
        """Add as many entries as fit when the long text of each has as much room as that of any other; how many did.

        One long answer must not keep nine others from being told. No text is cut to less than LEAST.
        """
        safe = [redacted(entry) for entry in entries]
        most = bisect_right(_LENGTHS, self._spare(share), key=lambda length: _cost_of(safe, length)) - 1
        length = _LENGTHS[max(0, most)]
        shortened = [_shortened(entry, shorten, length) for entry in safe]
        self._short = self._short or shortened != safe
        return self.fill(name, shortened, share)

    def choose(self, name: str, entries: Sequence[Any], order: Sequence[int], share: float) -> None:
        """Add entries by what is wanted most, and tell them in their own order."""
        kept = order[: self.fill(name, [entries[number] for number in order], share)]
        told = dict(zip(kept, self._data[name], strict=True))
        self._data[name] = [told[number] for number in sorted(kept)]

    def reply(self, told: int, total: int) -> Reply:
        self._data |= {"truncated": self._short or told < total, "totalCount": total, "returnedCount": told}
        assert tokens_of(len(as_json(self._data))) <= self._most
        return Reply(self._data)

    def _spare(self, share: float) -> int:
        return int(self._most * share) * _CHARACTERS - self._used

    def _fitting(self, entry: Any, spare: int, brief: int, *, first: bool) -> Any:
        """The entry as it is, or with its long text cut; None if neither fits."""
        over = _cost(entry) + _COMMA - spare
        if over <= 0:
            return entry
        name = next((name for name in _LONG if isinstance(entry, dict) and name in entry), None)
        if name is None or not (brief or first):
            return None
        text: str = entry[name]
        shorter = entry | {name: cut(text, brief) if brief else self._cut(text, _cost(text) - over)}
        if _cost(shorter) + _COMMA > spare:
            return None
        self._short = True
        return shorter

    def _cut(self, text: str, room: int) -> str:
        """As much of a text as takes so many characters as JSON."""
        if _cost(text) <= room:
            return text
        self._short = True
        most = bisect_right(range(len(text)), room, key=lambda length: _cost(text[:length]) + 1) - 1
        return cut(text, max(1, most))


def _shortened(entry: Any, shorten: Shorten, length: int) -> Any:
    return entry | {name: shorten(entry[name], length) for name in _LONG if name in entry}


def _cost_of(entries: Sequence[Any], length: int) -> int:
    """What they would take, estimated without looking for the best part of each."""
    return sum(_cost(_shortened(entry, cut, length)) + _COMMA for entry in entries)


def _cost(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
