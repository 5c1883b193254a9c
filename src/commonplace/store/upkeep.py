"""What a store tells whoever looks after it: whether its file is whole, and its indexes hold what they should."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the indexes agree with the passages that are searched.

    `wordless` ones cannot be found by words; `vectorless` ones have no vector and do not wait for one, as `waiting`
    ones do; of `given_up` ones none could be made. `stray` rows of an index belong to nothing that is searched.
    """

    passages: int
    wordless: int
    vectorless: int
    waiting: int
    given_up: int
    stray: int


class Upkeep(Protocol):
    """Looking after one space. What is wrong with the file is everybody's."""

    # The version of its tables, asked now; an error if this version of Commonplace cannot work with them.
    def check_schema(self) -> int: ...
    # What a check of the whole file finds wrong, empty if it is well; TimedOut if that takes too long.
    def complaints(self, seconds: float) -> Sequence[str]: ...
    def index_state(self, seconds: float) -> IndexState: ...
    # Drop every word of every space, if the index itself is damaged. Nothing is found by words until they are mended.
    def clear_words(self) -> None: ...
    # Write the missing words of some items, and take stray ones away; how many rows that were.
    def mend_words(self, limit: int) -> int: ...
