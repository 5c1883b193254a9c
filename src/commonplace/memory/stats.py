"""Statistics: conversations, messages and words by folder, label and status, and activity by day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Kind, Scope, SessionScope
from commonplace.store.types import SessionCounts
from commonplace.text.dates import DAY_MS, EARLIEST_MS, LATEST_MS, clamp_time
from commonplace.text.paths import ROOT_FOLDER, normalise_folder

# More labels than anybody reads: an import gives each conversation one of its own.
MOST_LABELS = 100
WEEKS, MONTHS = 26, 24
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ConversationStats:
    """Sums over a folder's tree; `bytes` is the whole store for everything, and text with metadata for a folder."""

    counts: SessionCounts
    bytes: int


@dataclass(frozen=True, slots=True)
class MessageActivity:
    """Messages per week or month (UTC), by its first day, oldest first, and how many there were before."""

    unit: Literal["week", "month"]
    messages: Mapping[date, int]
    earlier: int


def conversation_stats(memory: LocalMemory, folder: str | None = None, labels: Sequence[str] = ()) -> ConversationStats:
    """Statistics of a folder and all below it, of what has one of some labels, or of everything."""
    return stats_for_scope(
        memory, SessionScope(folder=normalise_folder(folder) if folder is not None else "", labels=tuple(labels))
    )


def stats_for_scope(memory: LocalMemory, scope: SessionScope) -> ConversationStats:
    """Statistics of the conversations of a scope."""
    counts = memory.store.session_counts(scope, MOST_LABELS)
    whole = scope in (SessionScope(), SessionScope(folder=ROOT_FOLDER))
    return ConversationStats(counts, memory.store.size() if whole else counts.bytes)


def session_totals(memory: LocalMemory, scope: SessionScope) -> SessionCounts:
    """Sums over the sessions of a scope, by folder, status and source; labels are only counted."""
    return memory.store.session_counts(scope, 0)


def message_activity(memory: LocalMemory, folder: str | None = None) -> MessageActivity:
    """Messages of the last weeks; if some are older, of the months up to the newest."""
    scope = SessionScope(folder=normalise_folder(folder) if folder is not None else "")
    counts = memory.store.session_counts(scope, 0)
    today = _date(memory.clock())
    oldest, newest = (today if ms is None else _date(ms) for ms in (counts.oldest_ms, counts.newest_ms))
    weeks = [_monday(today) - timedelta(weeks=back) for back in reversed(range(WEEKS))]
    weekly = weeks[0] <= oldest and newest <= today
    starts = weeks if weekly else _months_to(newest)
    messages = dict.fromkeys(starts, 0)
    for day, count in memory.store.activity(scope, (starts[0] - _EPOCH).days * DAY_MS).items():
        day_of_message = _date(int(day) * DAY_MS)
        start = _monday(day_of_message) if weekly else day_of_message.replace(day=1)
        messages[start] = messages.get(start, 0) + count
    return MessageActivity("week" if weekly else "month", messages, counts.messages - sum(messages.values()))


def _date(ms: int) -> date:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=clamp_time(ms))).date()


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _months_to(last: date) -> list[date]:
    """The first days of the months up to this one; the calendar begins with the year 1."""
    number = last.year * 12 + last.month - 1
    return [date(n // 12, n % 12 + 1, 1) for n in range(max(12, number - MONTHS + 1), number + 1)]


_FIRST = date(1970, 1, 1).toordinal()

ItemsPerDay = Mapping[date, Mapping[Kind, int]]


def items_per_day(
    memory: LocalMemory, scope: Scope, from_ms: int = EARLIEST_MS, to_ms: int = LATEST_MS + 1
) -> ItemsPerDay:
    """Live items by day, UTC, and kind, in order; a day without any is absent."""
    days = memory.store.items_per_day(scope, max(from_ms, EARLIEST_MS), min(to_ms, LATEST_MS + 1))
    return {date.fromordinal(_FIRST + day): days[day] for day in sorted(days)}


def utc_day(ms: int) -> date:
    """The day, UTC, that a moment is part of."""
    return date.fromordinal(_FIRST + ms // DAY_MS)


def day_start_ms(day: date) -> int:
    """The moment at which a day begins."""
    return (day.toordinal() - _FIRST) * DAY_MS
