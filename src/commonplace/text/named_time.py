"""A time that a question names beside its topic: "what did we decide on 25 May", "which tests failed last week"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from commonplace.text.recency import Period, asked_time
from commonplace.text.times import on_calendar

_MONTHS = "january february march april may june july august september october november december".split()
# "may" and "march" are words too: a month has a day or a year, or a word before it.
_MONTH = re.compile(
    rf"\b(?:(?P<first>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<a>{'|'.join(_MONTHS)})(?:,? (?P<year_a>\d{{4}}))?"
    rf"|(?P<b>{'|'.join(_MONTHS)}) (?P<second>\d\d?)(?:st|nd|rd|th)?(?:,? (?P<year_b>\d{{4}}))?"
    rf"|(?P<c>{'|'.join(_MONTHS)}),? (?P<year_c>\d{{4}})"
    rf"|(?:in|during|of|since|around|by|late|early|last|this) (?P<d>{'|'.join(_MONTHS)})(?:,? (?P<year_d>\d{{4}}))?)\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|(?:last|past|previous) (?:week|month)|this (?:week|month)|\w+ (?:day|week|month)s? ago"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What happened is told of for so long after.
_AFTERWARDS = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A day or a month, of one year or of any, or a period; whichever of them was named."""

    month: int = 0
    day: int = 0
    year: int = 0
    period: Period | None = None

    def nearness(self, at_ms: int) -> float:
        """1 for a moment in the time that is named, falling to 0 during two weeks after it, 0 for every other."""
        moment = _EPOCH + timedelta(milliseconds=on_calendar(at_ms))
        if self.period is not None:
            begin, end = (_moment(ms) for ms in (self.period.from_ms, self.period.to_ms))
            return _near(moment, begin, end)
        years = [self.year] if self.year else [moment.year, moment.year - 1]
        return max(self._near_in(year, moment) for year in years)

    def latest(self, now_ms: int) -> Period:
        """The last time it was, from its beginning to its end."""
        if self.period is not None:
            return self.period
        now = _EPOCH + timedelta(milliseconds=now_ms)
        years = [self.year] if self.year else range(now.year, now.year - 5, -1)
        for first in (_date(year, self.month, self.day or 1) for year in years):
            if first is not None and (self.year or first <= now):
                return Period(_ms(first), _ms(self._end(first)))
        return Period(now_ms, now_ms)

    def _end(self, first: datetime) -> datetime:
        return first + timedelta(days=1) if self.day else (first + timedelta(days=31)).replace(day=1)

    def _near_in(self, year: int, moment: datetime) -> float:
        first = _date(year, self.month, self.day or 1)
        return 0.0 if first is None else _near(moment, first, self._end(first))


def named_time(question: str, now_ms: int, zone: tzinfo | None = None) -> NamedTime | None:
    """The time that a question names, if it does."""
    if found := _ISO.search(question):
        year, month, day = map(int, found.groups())
        return NamedTime(month, day, year) if _date(year, month, day) else None
    if found := _MONTH.search(question):
        name = found["a"] or found["b"] or found["c"] or found["d"]
        year = int(found["year_a"] or found["year_b"] or found["year_c"] or found["year_d"] or 0)
        month, day = _MONTHS.index(name.lower()) + 1, int(found["first"] or found["second"] or 0)
        # The 29th of February is a day of some years.
        return NamedTime(month, day, year) if _date(year or 2000, month, day or 1) else None
    if found := _RELATIVE.search(question):
        asked = asked_time(found[0], now_ms, zone)
        return None if asked is None else NamedTime(period=asked.period)
    return None


def _near(moment: datetime, begin: datetime | None, end: datetime | None) -> float:
    if begin is not None and moment < begin:
        return 0.0
    if end is None or moment < end:
        return 1.0
    return max(0.0, 1.0 - (moment - end) / _AFTERWARDS)


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else _EPOCH + timedelta(milliseconds=ms)


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _date(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
