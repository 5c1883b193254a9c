"""Where a stretch of time begins and ends, as people write it: 7d, last week, 2026-11-01, yesterday."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from commonplace.errors import InvalidInput
from commonplace.text.recency import Period, asked_time
from commonplace.text.times import moment

_SPAN = re.compile(r"([0-9]{1,4}) ?(min|h|d|w|y)")
_UNIT_MS = {"min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000, "y": 365 * 86_400_000}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HINT = "Write it like 7d, 12h, yesterday, last week, monday, 2026-11-01 or 2026-11-01T09:00."


def beginning(text: str, now_ms: int) -> int:
    """The moment at which something begins that is named like this: so long ago, or the first moment of a day."""
    found = _named(text, now_ms)
    if found is None or found.from_ms is None:
        raise InvalidInput(f"{text[:60]!r} is not a time.", _HINT)
    return found.from_ms


def ending(text: str, now_ms: int) -> int:
    """The moment at which it ends: a day is meant to its end, and what goes on ends now."""
    found = _named(text, now_ms)
    if found is None:
        raise InvalidInput(f"{text[:60]!r} is not a time.", _HINT)
    return now_ms if found.to_ms is None else found.to_ms


def stretch(since: str | None, until: str | None, now_ms: int) -> Period:
    """From where something begins up to where it ends; what is not said is open."""
    return Period(beginning(since, now_ms) if since else None, ending(until, now_ms) if until else None)


def _named(text: str, now_ms: int) -> Period | None:
    text = text.strip()
    if span := _SPAN.fullmatch(text):
        then = now_ms - int(span[1]) * _UNIT_MS[span[2]]
        return Period(then, then)
    if _DAY.fullmatch(text):
        return _day(text)
    if asked := asked_time(text, now_ms):
        return None if asked.name else asked.period
    try:
        then = moment(text, local=True)
    except InvalidInput:
        return None
    return Period(then, then)


def _day(text: str) -> Period | None:
    """A day of the machine's own time zone, as whoever asks means it."""
    try:
        first = date.fromisoformat(text)
        return Period(*(_midnight(day) for day in (first, first + timedelta(days=1))))
    except (ValueError, OverflowError, OSError):
        return None


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day).astimezone().timestamp() * 1000)
