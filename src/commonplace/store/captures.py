"""What a store offers to those who remember without being asked: events told by hooks, each taken once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.model import Draft, Item, Session, SessionDraft

TOLD = "told"
"""In the metadata of a summary or checkpoint that hooks keep up to date: a digest of what they last wrote."""


@dataclass(frozen=True, slots=True)
class Captured:
    """One event and what becomes of it: an item in a session, or nothing but a number in the tally."""

    event: bytes
    outcome: str
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """Where a session stands: its first prompts, its newest observations oldest first, how many of each type."""

    session: Session
    opening: tuple[Item, ...]
    recent: tuple[Item, ...]
    counts: Mapping[str, int]
    summary: Item | None
    checkpoint: Item | None


class Captures(Protocol):
    """Events of one space."""

    def known_events(self, events: Sequence[bytes]) -> set[bytes]: ...
    # The session of that key as it stands, with so many observations of each end; None if there is none.
    def thread(self, key: str, opening: int, recent: int) -> Thread | None: ...
    # Writes what is new of the events, and lets each session's one summary and checkpoint say what `told` says.
    # Sessions are made, or learn what they did not know. Of events that were taken before nothing is written.
    def capture(
        self, sessions: Sequence[SessionDraft], events: Sequence[Captured], told: Sequence[Draft], now_ms: int
    ) -> list[bool]: ...
    # How many events became what, since the store exists.
    def captured(self) -> Mapping[str, int]: ...
