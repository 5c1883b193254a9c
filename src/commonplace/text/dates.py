"""Times and dates: ISO 8601, "3 days ago", `7d`, "last week", and the times that a question names.

Days are those of the machine's own time zone, as the person asking means them. Expressions are compiled when they are
first used: most processes only write times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from typing import NamedTuple

from commonplace.errors import InvalidInput
from commonplace.text.date_grammar import MONTHS as MONTHS
from commonplace.text.date_grammar import MONTHS_OF, DateMention, date_mentions, months_later
from commonplace.text.date_grammar import NUMBERS as NUMBERS
from commonplace.text.date_grammar import WEEKDAYS as WEEKDAYS
from commonplace.text.word_lists import word_set

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
DAY_SECONDS = DAY_MS // 1000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = _EPOCH.toordinal()
# The first and last moments of the years 1 to 9999, the only ones that Python's calendar has.
EARLIEST_MS, LATEST_MS = -62_135_596_800_000, 253_402_300_799_999
_HINT = "Write it like 2025-03-15, 2025-03-15T14:30, 2025-03-15T14:30:00Z, or as milliseconds since 1970."


def parse_time(text: str, *, local: bool) -> int:
    """Milliseconds since 1970 of an ISO 8601 time or of a number of milliseconds.

    A time without an offset is local when a person typed it, and UTC when it comes from a file.
    """
    text = text.strip()
    if re.fullmatch(r"-?[0-9]{9,15}", text):
        number = int(text)
        if 10**9 <= number < 10**10:
            raise InvalidInput(f"{text} looks like seconds since 1970.", _HINT)
        return number
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is None:
            parsed = parsed.astimezone() if local else parsed.replace(tzinfo=UTC)
        return (parsed - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"{text[:60]!r} is not a time.", _HINT) from None


def clamp_time(ms: int) -> int:
    """The nearest time within the years 1 to 9999; a damaged row may have one outside of them."""
    return min(max(int(ms), EARLIEST_MS), LATEST_MS)


def utc_day(ms: int) -> date:
    """The day, UTC, that a moment is part of."""
    return date.fromordinal(_FIRST_DAY + ms // DAY_MS)


def day_start_ms(day: date) -> int:
    """The moment at which a day begins, UTC."""
    return (day.toordinal() - _FIRST_DAY) * DAY_MS


def iso_time(ms: int) -> str:
    """A time for programs: 2025-03-15T14:30:00.000Z."""
    second, rest = divmod(clamp_time(ms), 1000)
    return f"{_to_the_second(second)}.{rest:03}Z"


@lru_cache(10_000)
def _to_the_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).isoformat().removesuffix("+00:00")


def short_iso_time(ms: int) -> str:
    """A time as conversations write it: 2025-03-15T14:30:00Z, with milliseconds only if there are any."""
    return iso_time(ms).replace(".000Z", "Z")


def time_ago(then_ms: int, now_ms: int) -> str:
    """How long ago, for people to read; a date if that is more useful."""
    seconds = (now_ms - then_ms) // 1000
    day = DAY_SECONDS
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min"), (day, 3600, "h"), (14 * day, day, "d")):
        if 0 <= seconds < limit:
            return "now" if seconds < 10 else f"{seconds // unit} {name} ago"
    return iso_time(then_ms)[:10]


def describe_seconds(seconds: int) -> str:
    """A length of time, for people to read."""
    for limit, unit, name in ((120, 1, "second"), (7200, 60, "minute"), (172_800, 3600, "hour")):
        if seconds < limit:
            return f"{seconds // unit} {name}{'' if seconds // unit == 1 else 's'}"
    return f"{seconds // DAY_SECONDS} days"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_WORD = r"[\w./@-]*\w"
_UNITS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1), "month": timedelta(days=30)}
# Other words for a day; and words that make it a question about time. All its other words must be fillers.
_SAME_DAY = {"gestern": "yesterday", "heute": "today", "morning": "today"}
_LATEST = frozenset("last latest recent recently lately newest previous previously off continue resume zuletzt".split())
_MARKERS = _LATEST | {"yesterday", "today", "ago", "past", *WEEKDAYS}
_MARKERS |= {*_UNITS, *(f"{unit}s" for unit in _UNITS)}
_AGO = r"\b(\w+) (hour|day|week|month)s? ago\b"
_LAST_SO_MANY = r"\b(?:last|past|previous) (?:(\w+) )?(hour|day|week|month)(s?)\b"
_WHERE_WE_ARE = r"where (?:were|are) (?:we|you)\b|what (?:was|were|am|are) (?:i|we) (?:working on|doing|up to)\b"

# What every date has, and few questions do.
_SIGN_OF_DATE = r"(?i)\d|day\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
# "may" and "march" are words too: a month has a day or a year, or one of these before it.
_BEFORE_MONTH = r"\b(?:in|during|of|since|around|by|late|early|last|this) \Z"


class Period(NamedTuple):
    """A period from one time up to, but without, another; None means open."""

    from_ms: int | None = None
    to_ms: int | None = None


class TimeQuestion(NamedTuple):
    """The time that a question is about, and its one other word, which may be the name of a project."""

    period: Period
    name: str = ""


# Whoever asks about a time alone needs no more characters.
_LONGEST_QUESTION = 300


def parse_time_question(question: str, now_ms: int, zone: tzinfo | None = None) -> TimeQuestion | None:
    """The time a question is about, if it is about nothing else: "what did we do last?"; None otherwise."""
    if len(question) > _LONGEST_QUESTION:
        return None
    found = _compiled(_WORD).findall(question.replace("'", " ").replace("’", " ").lower())
    words = [_SAME_DAY.get(word, word) for word in found]
    text = " ".join(words)
    dates = _past_dates(text)
    marks = set(words) & _MARKERS
    marks.update(*(text[one.start : one.end].split() for one in dates))
    if _compiled(_WHERE_WE_ARE).match(text):
        marks.add("last")
    names = _names_in(words, marks)
    only_off = marks == {"off"} and {"left", "leave"}.isdisjoint(words)
    if not marks or len(names) > 1 or only_off:
        return None
    period = _period(text, marks, dates, Calendar(now_ms, zone))
    return None if period is None else TimeQuestion(period, names[0] if names else "")


def _names_in(words: Iterable[str], marks: set[str]) -> list[str]:
    """The words of a question that say neither when nor what one always asks."""
    known = marks | word_set("time_question_fillers") | NUMBERS.keys()
    return [word for word in words if word not in known and not word.isdecimal()]


def _past_dates(text: str) -> list[DateMention]:
    """The dates in a text that can be in the past."""
    found: list[DateMention] = []
    if not _compiled(_SIGN_OF_DATE).search(text):
        return found
    for one in date_mentions(text):
        is_ahead = one.kind in ("rest", "coming", "unit") or one.word in ("tonight", "tomorrow")
        # "3/20 tests" is a share, and "may" is a verb.
        is_share = not one.year and "/" in text[one.start : one.end]
        is_bare_month = one.kind == "month" and not one.year
        if is_ahead or is_share or (is_bare_month and not _compiled(_BEFORE_MONTH).search(text, 0, one.start)):
            continue
        found.append(one)
    return found


def local_day(ms: int, zone: tzinfo | None = None) -> str:
    """The day of a time, such as 2025-03-15."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=clamp_time(ms))
    try:
        return moment.astimezone(zone).date().isoformat()
    except (OSError, OverflowError, ValueError):
        # Some systems know no local time that long ago, or that far ahead.
        return moment.date().isoformat()


def describe_bound(ms: int, *, end: bool, zone: tzinfo | None = None) -> str:
    """From or until when, for people: a day, of which an `end` is the end, or a moment such as 2025-03-15T14:30."""
    try:
        moment = (_EPOCH + timedelta(milliseconds=clamp_time(ms))).astimezone(zone).replace(tzinfo=None)
    except (OSError, OverflowError, ValueError):
        return short_iso_time(ms)
    if (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0):
        return local_day(ms - int(end), zone)
    return moment.isoformat(timespec="minutes")


class Calendar:
    """Days in the time zone of the person asking; without one, in that of the machine."""

    def __init__(self, now_ms: int, zone: tzinfo | None) -> None:
        self.now_ms, self._zone = now_ms, zone
        self.today = (_EPOCH + timedelta(milliseconds=now_ms)).astimezone(zone).date()

    def midnight(self, day: date) -> int:
        return int(datetime(day.year, day.month, day.day, tzinfo=self._zone).timestamp() * 1000)

    def days(self, first: date, number: int = 1) -> Period:
        return Period(self.midnight(first), self.midnight(first + timedelta(days=number)))

    def since(self, day: date) -> Period:
        return Period(self.midnight(day))


def _period(text: str, marks: set[str], dates: Sequence[DateMention], calendar: Calendar) -> Period | None:
    today, monday = calendar.today, calendar.today - timedelta(days=calendar.today.weekday())
    if dates:
        return _last_time(dates[0], calendar, since="since" in text.split())
    if ago := _compiled(_AGO).search(text):
        return _ago(_number(ago[1]), ago[2], calendar)
    if some := _compiled(_LAST_SO_MANY).search(text):
        # "The past week" is the last seven days.
        unit = f"{some[2]} before" if not (some[1] or some[3] or "past " in text) else some[2]
        return _last_so_many(_number(some[1] or "a"), unit, calendar)
    for unit, first in (("week", monday), ("month", today.replace(day=1))):
        if unit in marks:
            return calendar.since(first)
    return Period() if marks & _LATEST else None


def _last_so_many(number: int | None, unit: str, calendar: Calendar) -> Period | None:
    if number is None:
        return None
    if unit == "week before":
        return calendar.days(calendar.today - timedelta(days=calendar.today.weekday() + 7), 7)
    if unit == "month before":
        return _month_before(calendar)
    unit = unit.removesuffix(" before")
    if unit == "day":
        return calendar.since(calendar.today - timedelta(days=number))
    return Period(calendar.now_ms - _span_ms(number * _UNITS[unit]))


def _last_time(mention: DateMention, calendar: Calendar, *, since: bool) -> Period | None:
    """A date, in the year that it names, or else the last time it was."""
    today = calendar.today
    if mention.kind == "weekday":
        first = today - timedelta(days=(today.weekday() - WEEKDAYS.index(mention.word) - 1) % 7 + 1)
    elif mention.kind == "relative":
        first = today - timedelta(days=int(mention.word == "yesterday"))
    else:
        try:
            first = date(mention.year or today.year, mention.month, mention.day or 1)
            if not mention.year and first > today:
                first = first.replace(year=today.year - 1)
        except ValueError:
            return None
    if since:
        return calendar.since(first)
    if mention.kind not in ("month", "quarter"):
        return calendar.days(first)
    return Period(calendar.midnight(first), calendar.midnight(months_later(first, MONTHS_OF[mention.kind])))


def _ago(number: int | None, unit: str, calendar: Calendar) -> Period | None:
    """About so long ago: that day or week; for hours and months, from a little earlier until now."""
    if number is None:
        return None
    if unit == "day":
        return calendar.days(calendar.today - timedelta(days=number))
    if unit == "week":
        return calendar.days(calendar.today - timedelta(days=calendar.today.weekday() + 7 * number), 7)
    return Period(calendar.now_ms - _span_ms((number + 1) * _UNITS[unit]))


def _month_before(calendar: Calendar) -> Period:
    first = calendar.today.replace(day=1)
    return Period(calendar.midnight((first - timedelta(days=1)).replace(day=1)), calendar.midnight(first))


def _number(word: str) -> int | None:
    number = int(word) if word.isdecimal() and len(word) < 4 else NUMBERS.get(word)
    return number if number is not None and number < 1000 else None


def _span_ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


_RELATIVE = (
    r"(?i)\b(?:yesterday|today|(?:last|past|previous) (?:week|month)|this (?:week|month)|\w+ (?:day|week|month)s? ago"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
# For so long afterwards people still talk about what happened.
_AFTERWARDS = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time named in a question: a day or a month, of one year or of any year, or a period."""

    month: int = 0
    day: int = 0
    year: int = 0
    period: Period | None = None

    def nearness(self, at_ms: int) -> float:
        """1 within the named time, falling to 0 over the two weeks after it, 0 otherwise."""
        moment = _EPOCH + timedelta(milliseconds=clamp_time(at_ms))
        if self.period is not None:
            begin, end = (_moment(ms) for ms in (self.period.from_ms, self.period.to_ms))
            return _near(moment, begin, end)
        years = [self.year] if self.year else [moment.year, moment.year - 1]
        return max(self._near_in(year, moment) for year in years)

    def latest(self, now_ms: int) -> Period:
        """The most recent such period."""
        if self.period is not None:
            return self.period
        now = _EPOCH + timedelta(milliseconds=now_ms)
        years = [self.year] if self.year else range(now.year, now.year - 5, -1)
        for first in (_date(year, self.month, self.day or 1) for year in years):
            if first is not None and (self.year or first <= now):
                return Period(_moment_ms(first), _moment_ms(self._end(first)))
        return Period(now_ms, now_ms)

    def _end(self, first: datetime) -> datetime:
        return first + timedelta(days=1) if self.day else (first + timedelta(days=31)).replace(day=1)

    def _near_in(self, year: int, moment: datetime) -> float:
        first = _date(year, self.month, self.day or 1)
        return 0.0 if first is None else _near(moment, first, self._end(first))


def named_time(question: str, now_ms: int, zone: tzinfo | None = None) -> NamedTime | None:
    """The time that a question names besides its topic: "what did we decide on 25 May?"."""
    for one in _past_dates(question):
        if one.kind in ("day", "month"):
            # The 29th of February is a day of some years.
            is_day = _date(one.year or 2000, one.month, one.day or 1) is not None
            return NamedTime(one.month, one.day, one.year) if is_day else None
    if found := _compiled(_RELATIVE).search(question):
        named = parse_time_question(found[0], now_ms, zone)
        return None if named is None else NamedTime(period=named.period)
    return None


def _near(moment: datetime, begin: datetime | None, end: datetime | None) -> float:
    if begin is not None and moment < begin:
        return 0.0
    if end is None or moment < end:
        return 1.0
    return max(0.0, 1.0 - (moment - end) / _AFTERWARDS)


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else _EPOCH + timedelta(milliseconds=ms)


def _moment_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _date(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


_SPAN = r"([0-9]{1,4}) ?(min|h|d|w|y)(?: ago)?"
# Moments: of days and weeks ago people mean the whole day or week.
_MOMENT_AGO = r"(?i)(?:a )?(half an|[a-z]+|[0-9]{1,3})(?: of)? (min|minute|hour|month|year)s? ago"
_MOMENT_UNITS = {"min": MINUTE_MS, "minute": MINUTE_MS, "hour": HOUR_MS, "month": 30 * DAY_MS, "year": 365 * DAY_MS}
UNIT_MS = {"min": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS, "y": 365 * DAY_MS}
"""The units of spans such as 7d."""

_PERIOD_HINT = "Write it like now, 7d, 2 hours ago, yesterday, last week, monday, 2026-11-01 or 2026-11-01T09:00."


def period_start(text: str, now_ms: int) -> int:
    """Where a period begins that is written like `7d`, "last week" or 2026-11-01; a day begins at midnight."""
    found = _parse_named_period(text, now_ms)
    if found is None or found.from_ms is None:
        raise InvalidInput(f"{text[:60]!r} is not a time.", _PERIOD_HINT)
    return found.from_ms


def period_end(text: str, now_ms: int) -> int:
    """Where such a period ends: a day ends at midnight, and an open period ends now."""
    found = _parse_named_period(text, now_ms)
    if found is None:
        raise InvalidInput(f"{text[:60]!r} is not a time.", _PERIOD_HINT)
    return now_ms if found.to_ms is None else found.to_ms


def parse_period(since: str | None, until: str | None, now_ms: int) -> Period:
    """The period between two such texts; None leaves an end open."""
    return Period(period_start(since, now_ms) if since else None, period_end(until, now_ms) if until else None)


def _parse_named_period(text: str, now_ms: int) -> Period | None:
    text = text.strip()
    if text.lower() == "now":
        return Period(now_ms, now_ms + 1)
    if span := _compiled(_SPAN).fullmatch(text):
        then = now_ms - int(span[1]) * UNIT_MS[span[2]]
        return Period(then, then)
    if moment := _compiled(_MOMENT_AGO).fullmatch(text):
        number = 0.5 if moment[1].lower() == "half an" else _number(moment[1].lower())
        if number is None:
            return None
        then = now_ms - int(number * _MOMENT_UNITS[moment[2].lower()])
        return Period(then, then)
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return _day(text)
    if named := parse_time_question(text, now_ms):
        return None if named.name else named.period
    try:
        then = parse_time(text, local=True)
    except InvalidInput:
        return None
    return Period(then, then)


def _day(text: str) -> Period | None:
    """A day in the machine's own time zone."""
    try:
        first = date.fromisoformat(text)
        return Period(*(_midnight(day) for day in (first, first + timedelta(days=1))))
    except (ValueError, OverflowError, OSError):
        return None


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day).astimezone().timestamp() * 1000)
