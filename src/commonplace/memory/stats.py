"""Stats: how much was said, where, how important, and since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from commonplace.memory.book import Book
from commonplace.model import SessionScope
from commonplace.store.conversations import SessionCounts
from commonplace.text.folders import ROOT, folder_path
from commonplace.text.times import on_calendar

# More labels than anybody reads: an import gives each conversation one of its own.
MOST_LABELS = 100
WEEKS, MONTHS = 26, 24
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Stats:
    """Sums over a folder's tree; `bytes` is the whole store for everything, and text with metadata for a folder."""

    counts: SessionCounts
    bytes: int


@dataclass(frozen=True, slots=True)
class Activity:
    """Messages per week or month (UTC), by its first day, oldest first, and how many were said before all of them."""

    unit: Literal["week", "month"]
    messages: Mapping[date, int]
    earlier: int


def stats(book: Book, folder: str | None = None, labels: Sequence[str] = ()) -> Stats:
    """Statistics of a folder and all below it, of what has one of some labels, or of everything."""
    return stats_of(book, SessionScope(folder=folder_path(folder) if folder is not None else "", labels=tuple(labels)))


def stats_of(book: Book, scope: SessionScope) -> Stats:
    """Statistics of the conversations of a scope."""
    counts = book.store.session_counts(scope, MOST_LABELS)
    whole = scope in (SessionScope(), SessionScope(folder=ROOT))
    return Stats(counts, book.store.size() if whole else counts.bytes)


def totals(book: Book, scope: SessionScope) -> SessionCounts:
    """Sums over the sessions of a scope, by folder, status and source; labels are only counted."""
    return book.store.session_counts(scope, 0)


def activity(book: Book, folder: str | None = None) -> Activity:
    """Messages of the last weeks; if some are older, of the months up to the newest."""
    scope = SessionScope(folder=folder_path(folder) if folder is not None else "")
    counts = book.store.session_counts(scope, 0)
    today = _date(book.clock())
    oldest, newest = (today if ms is None else _date(ms) for ms in (counts.oldest_ms, counts.newest_ms))
    weeks = [_monday(today) - timedelta(weeks=back) for back in reversed(range(WEEKS))]
    weekly = weeks[0] <= oldest and newest <= today
    starts = weeks if weekly else _months_to(newest)
    messages = dict.fromkeys(starts, 0)
    for day, count in book.store.activity(scope, (starts[0] - _EPOCH).days * 86_400_000).items():
        said = _date(int(day) * 86_400_000)
        start = _monday(said) if weekly else said.replace(day=1)
        messages[start] = messages.get(start, 0) + count
    return Activity("week" if weekly else "month", messages, counts.messages - sum(messages.values()))


def _date(ms: int) -> date:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=on_calendar(ms))).date()


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _months_to(last: date) -> list[date]:
    """The first days of the months up to this one; the calendar begins with the year 1."""
    number = last.year * 12 + last.month - 1
    return [date(n // 12, n % 12 + 1, 1) for n in range(max(12, number - MONTHS + 1), number + 1)]
