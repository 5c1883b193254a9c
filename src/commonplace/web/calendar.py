"""The calendar of activity: a year, a column for each week, the fuller a day the darker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

WEEKS = 53
# How dark a day is, by its share of the fullest: 0 is empty.
SHADES = 4
CELL = 14


@dataclass(frozen=True, slots=True)
class Day:
    """One square: where it stands, what it counts, how dark it is."""

    date: date
    count: int
    shade: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Calendar:
    """Squares from the first Monday to today, and where months begin."""

    days: tuple[Day, ...]
    months: tuple[tuple[int, date], ...]
    total: int
    width: int
    height: int = 8 * CELL + 4


def first_day(today: date) -> date:
    """The Monday that the calendar begins with."""
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def calendar(counts: Mapping[date, int], today: date) -> Calendar:
    """The calendar up to today."""
    first = first_day(today)
    fullest = max(counts.values(), default=0)
    squares = []
    months: list[tuple[int, date]] = []
    for number in range((today - first).days + 1):
        day = first + timedelta(days=number)
        count = counts.get(day, 0)
        x, y = (number // 7) * CELL, 18 + (number % 7) * CELL
        squares.append(Day(day, count, _shade(count, fullest), x, y))
        # A month is named over the week in which it begins, if there is room.
        if day.day == 1 and (not months or x - months[-1][0] >= 2 * CELL):
            months.append((x, day))
    return Calendar(tuple(squares), tuple(months), sum(day.count for day in squares), WEEKS * CELL)


def _shade(count: int, fullest: int) -> int:
    """Few and many differ more than their share: half of the fullest day is dark already."""
    return 0 if not count else 1 + min(SHADES - 1, int(SHADES * (count / fullest) ** 0.5 - 0.001))
