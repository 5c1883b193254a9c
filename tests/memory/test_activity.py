"""When people talked: messages per week, or per month where some are older."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, keep
from commonplace.memory.stats import MONTHS, WEEKS, activity

# 2025-03-15, a Saturday.
NOW = 1_742_049_000_000
DAY = 86_400_000


def say(book: Book, *days_ago: float, folder: str = "/") -> None:
    said = [Said("user", f"{folder} {n} {ago}", int(NOW - ago * DAY)) for n, ago in enumerate(days_ago)]
    keep(book, Conversation("talk", said, folder))


def test_recent_messages_are_counted_by_week(book: Book) -> None:
    say(book, 0, 1, 5, 6, 12, 25 * 7 + 5)
    found = activity(book)
    assert (found.unit, len(found.messages), found.earlier) == ("week", WEEKS, 0)
    weeks = list(found.messages)
    assert (weeks[0], weeks[-1]) == (date(2024, 9, 16), date(2025, 3, 10))
    assert [found.messages[week] for week in (weeks[0], weeks[-2], weeks[-1])] == [1, 2, 3]
    assert sum(found.messages.values()) == 6


def test_older_messages_are_counted_by_month_up_to_the_newest(book: Book) -> None:
    say(book, 900, 400, 399, 395)
    found = activity(book)
    assert (found.unit, len(found.messages), found.earlier) == ("month", MONTHS, 0)
    assert list(found.messages)[-1] == date(2024, 2, 1)
    assert {month: count for month, count in found.messages.items() if count} == {
        date(2022, 9, 1): 1,
        date(2024, 2, 1): 3,
    }


def test_what_is_older_than_the_chart_is_told_apart(book: Book) -> None:
    say(book, 0, 800)
    assert activity(book).earlier == 1


@pytest.mark.parametrize("year", [1, 9000])
def test_messages_at_the_ends_of_the_calendar(book: Book, year: int) -> None:
    moment = (date(year, 1, 15) - date(1970, 1, 1)).days * DAY
    keep(book, Conversation("far", [Said("user", "hello", moment)], started_ms=moment))
    assert activity(book).messages[date(year, 1, 1)] == 1


def test_a_message_from_the_future_is_shown(book: Book) -> None:
    say(book, 0, -60)
    found = activity(book)
    assert (found.unit, found.messages[date(2025, 3, 1)], found.messages[date(2025, 5, 1)]) == ("month", 1, 1)


def test_a_folder_and_an_empty_memory(book: Book) -> None:
    assert sum(activity(book).messages.values()) == 0
    say(book, 0, 0, folder="/work/x")
    say(book, 0, folder="/home")
    assert sum(activity(book, "/work").messages.values()) == 2
