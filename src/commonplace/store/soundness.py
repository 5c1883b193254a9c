"""What a store tells of itself to whoever checks it, and how what is derived in it is made anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from commonplace.model import Item, Passage
from commonplace.store.damage import DamagedRow
from commonplace.store.invariants import Invariant
from commonplace.store.scrubbing import Mark

Advance = Callable[[int], object]
"""Told how many more items were looked at."""


@dataclass(frozen=True, slots=True)
class Breaches:
    """How many rows break an invariant, and a few of them by name."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Damage:
    """What an engine finds wrong with its own files, and what of them can be made anew from the rows.

    `rows`: values that their table does not allow, which a repair replaces by the nearest that it does.
    """

    sentence: str
    cure: Literal["words", "indexes", "rows", ""] = ""


class Soundness(Protocol):
    """Checking one space. Nothing here changes what somebody said; the file is everybody's."""

    # What the rows of this engine have to keep, in the order in which breaches are cured.
    def invariants(self) -> Sequence[Invariant]: ...
    # Of all rows, or of what so many last ones are, for those who have no time.
    def breaches(self, kept: Invariant, newest: int | None = None) -> Breaches: ...
    # Put some right, where the invariant tells how; how many rows that were.
    def cure(self, kept: Invariant, limit: int) -> int: ...
    def damage(self, *, quick: bool) -> Sequence[Damage]: ...
    # Make the indexes of the tables anew.
    def reindex(self) -> None: ...

    # Rows of a part (holders.py) that cannot be read as they should be, of some after a mark, and the last of those.
    def damaged_rows(self, part: str, after: Mark | None, limit: int) -> tuple[list[DamagedRow], Mark | None]: ...
    # Live items after an id whose content is not what was written, up to so many looked at, and the last of those.
    def altered(self, after: int, limit: int) -> tuple[list[int], int | None]: ...

    # Items in the order of their ids, forgotten ones too; damaged ones as far as they can be read.
    def walk(self, after: int, limit: int) -> list[Item]: ...
    # Items that are not cut into passages as they should be, and cutting one: its passages and their words are new.
    def uncut(self, limit: int) -> list[Item]: ...
    def recut(self, item_id: int, passages: Sequence[Passage]) -> None: ...
    # Live items whose words in the index are others than their text gives.
    def misworded(self, advance: Advance) -> list[int]: ...
    def reword(self, item_ids: Sequence[int]) -> None: ...
    # Of some sessions after an id, those that count their messages wrongly, and the last that was looked at.
    def miscounted(self, after: int, limit: int) -> tuple[list[int], int | None]: ...
    def recount(self, session_ids: Sequence[int]) -> None: ...

    # A copy of everything, of all spaces, with another key if one is named; unless `checked`, whole or not.
    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None: ...
