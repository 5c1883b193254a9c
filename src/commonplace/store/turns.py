"""What a store tells of how things were said: by whom, in which session, and what came next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from commonplace.model import Scope
from commonplace.store.damage import texts_of
from commonplace.text.query import Word


@dataclass(frozen=True, slots=True)
class Turn:
    """Where an item stands in its session.

    `speaker` and `role` are empty where nobody is named; `size` is a message's in bytes, and None for what is none.
    """

    session_id: int
    speaker: str
    role: str
    size: int | None
    next_id: int | None


def turn_of(row: Sequence[Any]) -> Turn:
    """A turn from the number of its item and of its session, its details, its size and what follows it."""
    _id, session_id, details, size, next_id = row
    kept = texts_of(details)
    return Turn(session_id, kept.get("speaker", ""), kept.get("role", ""), size, next_id)


class Turns(Protocol):
    """The order in which the items of one space were said."""

    # Those of the words that are part of the name, or the role, of somebody who speaks: anywhere, or in one project.
    def speakers(self, words: Sequence[Word], project: str | None = None) -> list[Word]: ...
    # Conversations whose label matches so many of the LIKE patterns, or holds letters that engines compare differently,
    # the one with the newest message first: the id of the first message that is in the scope, and the label.
    def titled(self, patterns: Sequence[str], least: int, scope: Scope, limit: int) -> dict[int, str]: ...
    # Of these items, those that are part of a session.
    def turns(self, item_ids: Sequence[int]) -> dict[int, Turn]: ...
