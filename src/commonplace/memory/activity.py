"""Activity: how much was remembered on which day, for a calendar or a histogram."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from commonplace.memory.book import Book
from commonplace.memory.remember import EARLIEST_MS, LATEST_MS
from commonplace.model import Kind, Scope

DAY_MS = 86_400_000
_FIRST = date(1970, 1, 1).toordinal()

PerDay = Mapping[date, Mapping[Kind, int]]


def items_per_day(book: Book, scope: Scope, from_ms: int = EARLIEST_MS, to_ms: int = LATEST_MS + 1) -> PerDay:
    """Live items by day, UTC, and kind, in order; a day without any is absent."""
    days = book.store.items_per_day(scope, max(from_ms, EARLIEST_MS), min(to_ms, LATEST_MS + 1))
    return {date.fromordinal(_FIRST + day): days[day] for day in sorted(days)}


def day_of(ms: int) -> date:
    """The day, UTC, that a moment is part of."""
    return date.fromordinal(_FIRST + ms // DAY_MS)


def midnight(day: date) -> int:
    """The moment at which a day begins."""
    return (day.toordinal() - _FIRST) * DAY_MS
