"""What became of the events that hooks told: observations, steps of a session, and what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from commonplace.memory.book import Book
from commonplace.memory.captured import captured_counts

KEPT, DROPPED, LED = "kept", "dropped", "led"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of events: how many observations of each type, what was dropped and why, what led a session on.

    `known` had been told before; `unfit` could not be kept.
    """

    kept: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    led: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    unfit: int = 0

    @classmethod
    def of(cls, outcomes: Mapping[str, int], known: int = 0) -> Remembered:
        groups: dict[str, dict[str, int]] = {KEPT: {}, DROPPED: {}, LED: {}}
        unfit = 0
        for outcome, number in sorted(outcomes.items()):
            group, _, name = outcome.partition(":")
            if group in groups:
                groups[group][name] = number
            else:
                unfit += number
        return cls(groups[KEPT], groups[DROPPED], groups[LED], known, unfit)


def remembered(book: Book) -> Remembered:
    """The same of all events since the store exists, for those who want to know what was dropped."""
    return Remembered.of(captured_counts(book))
