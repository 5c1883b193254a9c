"""How much was remembered on which day."""

from __future__ import annotations

from datetime import date

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.status_and_stats import items_per_day
from commonplace.model import Scope
from commonplace.text.dates import EARLIEST_MS, LATEST_MS, day_start_ms


def test_days_are_dates_in_order_and_empty_ones_are_absent(memory: LocalMemory) -> None:
    days = [date(2025, 3, 2), date(1969, 12, 31), date(2024, 2, 29)]
    remember_all(memory, [NewItem(f"note {day}", created_ms=day_start_ms(day) + 5) for day in days])
    assert items_per_day(memory, Scope()) == {day: {"memory": 1} for day in days}
    assert list(items_per_day(memory, Scope())) == sorted(days)
    assert items_per_day(memory, Scope(), day_start_ms(days[2]), day_start_ms(days[0])) == {days[2]: {"memory": 1}}


def test_the_ends_of_the_calendar_are_days(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem("first", created_ms=EARLIEST_MS), NewItem("last", created_ms=LATEST_MS)])
    assert list(items_per_day(memory, Scope(), EARLIEST_MS * 2, LATEST_MS * 2)) == [date.min, date.max]
