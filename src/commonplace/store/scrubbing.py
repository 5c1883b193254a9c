"""What every engine offers to find and clean what should never have been kept, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from commonplace.model import Draft, Item

Mark = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Holder:
    """A row that holds texts: `mark` tells it from the others of its part, `name` is for people."""

    mark: Mark
    name: str
    texts: tuple[str, ...]


class Scrubbing(Protocol):
    """Everything of one space that holds words of somebody, part by part. Items are one of the parts."""

    def parts(self) -> Sequence[str]: ...
    # Rows of a part in their order, from a mark on.
    def holders(self, part: str, after: Mark | None, limit: int) -> list[Holder]: ...
    # Let rows say what is left of their texts. One that can be made anew, such as an answer, may go altogether.
    def clean_holders(self, part: str, marks: Sequence[Mark], clean: Callable[[str], str]) -> None: ...
    # The same for items: with their passages, words and vectors, and without a history.
    def clean_items(self, marks: Sequence[Mark], redraft: Callable[[Item], Draft]) -> None: ...
    # Take what was cleaned out of the file itself. False if someone else still reads what was there: try again later.
    def wipe(self) -> bool: ...
