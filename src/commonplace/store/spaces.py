"""The directory: which spaces a database has, how much each holds and may hold, and where a key or some work lies.

A store sees its own space only; what is told here of others is their names and numbers, never what they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from commonplace.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a space may hold: live items, and bytes of what they say. None: any number."""

    items: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SpaceEntry:
    """A space: how much it holds and may hold, and how many keys to it work."""

    name: str
    created_ms: int
    items: int
    bytes: int
    keys: int
    limits: Limits


class Spaces(Protocol):
    """The spaces of the database, seen from one of them."""

    # False if there is one of this name.
    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool: ...

    # All of them, by name; `name` asks for one.
    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]: ...

    # False if there is none of this name. What it holds already stays, whatever it may hold now.
    def limit_space(self, name: str, limits: Limits) -> bool: ...

    # The spaces with a key whose secret begins so.
    def spaces_of_key(self, prefix: str) -> Sequence[str]: ...

    # The spaces with passages that wait for their links, or for `vectors` that nobody is making.
    def waiting_spaces(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]: ...

    # A store of another space of the same database, to be closed before this one. NotFound if there is none.
    def beside(self, name: str) -> Store: ...
