"""How much was remembered on which day."""

from __future__ import annotations

from datetime import date

from commonplace.memory.activity import items_per_day, midnight
from commonplace.memory.book import Book
from commonplace.memory.remember import EARLIEST_MS, LATEST_MS, Note, remember_all
from commonplace.model import Scope


def test_days_are_dates_in_order_and_empty_ones_are_absent(book: Book) -> None:
    days = [date(2025, 3, 2), date(1969, 12, 31), date(2024, 2, 29)]
    remember_all(book, [Note(f"note {day}", created_ms=midnight(day) + 5) for day in days])
    assert items_per_day(book, Scope()) == {day: {"memory": 1} for day in days}
    assert list(items_per_day(book, Scope())) == sorted(days)
    assert items_per_day(book, Scope(), midnight(days[2]), midnight(days[0])) == {days[2]: {"memory": 1}}


def test_the_ends_of_the_calendar_are_days(book: Book) -> None:
    remember_all(book, [Note("first", created_ms=EARLIEST_MS), Note("last", created_ms=LATEST_MS)])
    assert list(items_per_day(book, Scope(), EARLIEST_MS * 2, LATEST_MS * 2)) == [date.min, date.max]
