"""What a store tells of a stretch of time: what happened in it, and in which sessions; and how those hang together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.model import Item, Kind, Scope, Session


@dataclass(frozen=True, slots=True)
class Happening:
    """An item without its text, which a look over many of them does not need."""

    item_id: int
    kind: Kind
    type: str
    title: str
    details: Mapping[str, str]
    meta: Mapping[str, object]
    project: str | None
    session_id: int | None
    at_ms: int


class Periods(Protocol):
    """The items and sessions of one space, by time: from a moment up to but without another."""

    # Live ones, the newest first.
    def happened(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[Happening]: ...
    # Those that had begun before its end and had not ended before its beginning, the one that ended last first.
    def sessions_during(self, scope: Scope, from_ms: int, to_ms: int, limit: int) -> list[Session]: ...
    # How many live items came on which day, by kind; days are counted from 1970 and begin at midnight UTC.
    def items_per_day(self, scope: Scope, from_ms: int, to_ms: int) -> dict[int, dict[Kind, int]]: ...
    # Live ones with their text, the newest first or the oldest; `beyond` is the time and the id to go on from.
    def items_between(
        self,
        scope: Scope,
        from_ms: int,
        to_ms: int,
        limit: int,
        beyond: tuple[int, int] | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[Item]: ...
    # How many live items of each kind there are in some sessions.
    def kinds_in(self, session_ids: Sequence[int]) -> dict[int, dict[Kind, int]]: ...
    # Sessions that continue one, and those of the sub-agents that it started, the oldest first.
    def sessions_from(self, session_id: int) -> list[Session]: ...
