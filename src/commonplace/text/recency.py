"""Questions about time rather than about a topic: "what did we do last?", "what happened on Friday?".

Days are those of the machine's own time zone, as whoever asks means them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from commonplace.text.times import on_calendar

_WORD = re.compile(r"[\w./@-]*\w")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_NUMBERS |= {"a": 1, "an": 1, "couple": 2, "few": 3}
_UNITS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1), "month": timedelta(days=30)}
# What makes it a question about time. All other words must be among those that any such question has.
_LATEST = frozenset("last latest recent recently lately newest previous previously off continue resume zuletzt".split())
_MARKERS = _LATEST | {"yesterday", "today", "morning", "ago", "past", *_DAYS, *_UNITS, *(f"{unit}s" for unit in _UNITS)}
_MARKERS |= {"gestern", "heute"}
_FILLERS = frozenset(
    "about all am and any anything are as ask asked at back be been before break broke broken build built by can catch"
    " change changed changes conversation conversations could crash crashed current decide decided describe did discuss"
    " discussed do does doing done during end ended explain fail failed far finish finished fix fixed for from give go"
    " going had happen happened happening has"
    " have history how i in is it just know latest learn learned leave left let list long made make me most much my"
    " need new next now of on or our out over overview pick please progress recall recap remember remind s said say"
    " session sessions show since so something start started status stop stopped stuff summarise summarize summary t"
    " talk talked task tasks tell that the then there thing things this time to until up update updates us very want"
    " was we went were what when where which while who will with within work worked working would wrong you your"
    # The same in German.
    " dran gearbeitet gemacht getan haben habe hast ich ist passiert sind waren war wir wo woran".split()
)
_AGO = re.compile(r"\b(\w+) (hour|day|week|month)s? ago\b")
_LAST_SO_MANY = re.compile(r"\b(?:last|past|previous) (?:(\w+) )?(hour|day|week|month)(s?)\b")
_WHERE_WE_ARE = re.compile(
    r"where (?:were|are) (?:we|you)\b|what (?:was|were|am|are) (?:i|we) (?:working on|doing|up to)\b"
)
_MONTHS = "january february march april may june july august september october november december".split()
# "may" and "march" are words too: a month has a day, or a word before it.
_IN_MONTH = re.compile(
    rf"\b(?:(?P<month>{'|'.join(_MONTHS)}) (?P<day>\d\d?)(?:st|nd|rd|th)?"
    rf"|(?P<day_before>\d\d?)(?:st|nd|rd|th)? (?:of )?(?P<its_month>{'|'.join(_MONTHS)})"
    rf"|(?:in|during|since|last) (?P<alone>{'|'.join(_MONTHS)}))(?: (?P<year>\d{{4}}))?\b"
)
_ISO_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, from a moment up to but without another; None is open."""

    from_ms: int | None = None
    to_ms: int | None = None


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time that a question is about, and the one other word it has, which may be the name of a project."""

    period: Period
    name: str = ""


def asked_time(question: str, now_ms: int, zone: tzinfo | None = None) -> AskedTime | None:
    """What time a question is about, if it is about nothing else; None for every other question."""
    words = [word.lower() for word in _WORD.findall(question.replace("'", " ").replace("’", " "))]
    marks = {word for word in words if word in _MARKERS or _ISO_DAY.fullmatch(word)}
    if _WHERE_WE_ARE.match(" ".join(words)):
        marks.add("last")
    if month := _IN_MONTH.search(" ".join(words)):
        marks.update(month[0].split())
    names = [word for word in words if word not in marks | _FILLERS | _NUMBERS.keys() and not word.isdecimal()]
    if not marks or len(names) > 1 or (marks == {"off"} and not {"left", "leave"} & set(words)):
        return None
    period = _period(" ".join(words), marks, _Calendar(now_ms, zone))
    return None if period is None else AskedTime(period, names[0] if names else "")


def day_of(ms: int, zone: tzinfo | None = None) -> str:
    """The day of a moment, like 2025-03-15."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=on_calendar(ms))
    try:
        return moment.astimezone(zone).date().isoformat()
    except (OSError, OverflowError, ValueError):
        # Some systems know no local time that long ago, or that far ahead.
        return moment.date().isoformat()


class _Calendar:
    """Days as they are counted where someone asks; without a zone, in that of the machine."""

    def __init__(self, now_ms: int, zone: tzinfo | None) -> None:
        self.now_ms, self._zone = now_ms, zone
        self.today = datetime.fromtimestamp(now_ms / 1000, zone).date()

    def midnight(self, day: date) -> int:
        return int(datetime(day.year, day.month, day.day, tzinfo=self._zone).timestamp() * 1000)

    def days(self, first: date, number: int = 1) -> Period:
        return Period(self.midnight(first), self.midnight(first + timedelta(days=number)))

    def since(self, day: date) -> Period:
        return Period(self.midnight(day))


def _period(text: str, marks: set[str], calendar: _Calendar) -> Period | None:
    today, monday = calendar.today, calendar.today - timedelta(days=calendar.today.weekday())
    if month := _IN_MONTH.search(text):
        return _in_month(month, calendar, since="since" in text.split())
    if (day := _day_named(text, marks, today)) is not None:
        return calendar.since(day) if "since" in text.split() else calendar.days(day)
    if ago := _AGO.search(text):
        return _ago(_number(ago[1]), ago[2], calendar)
    if some := _LAST_SO_MANY.search(text):
        if not some[1] and not some[3] and some[2] in ("week", "month") and not text.count("past "):
            return calendar.days(monday - timedelta(days=7), 7) if some[2] == "week" else _month_before(calendar)
        number = _number(some[1]) if some[1] else 1
        if number is not None and some[2] == "day":
            return calendar.since(today - timedelta(days=number))
        return None if number is None else Period(calendar.now_ms - _ms(number * _UNITS[some[2]]))
    if "week" in marks:
        return calendar.since(monday)
    if "month" in marks:
        return calendar.since(today.replace(day=1))
    return Period() if marks & _LATEST else None


def _day_named(text: str, marks: set[str], today: date) -> date | None:
    """The one day that a question names."""
    if found := _ISO_DAY.search(text):
        try:
            return date.fromisoformat(found[0])
        except ValueError:
            return None
    for number, name in enumerate(_DAYS):
        if name in marks:
            return today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)
    if marks & {"yesterday", "gestern"}:
        return today - timedelta(days=1)
    return today if marks & {"today", "morning", "heute"} else None


def _ago(number: int | None, unit: str, calendar: _Calendar) -> Period | None:
    """Around so long ago: that day, that week; of hours and months a little before and all after."""
    if number is None:
        return None
    if unit == "day":
        return calendar.days(calendar.today - timedelta(days=number))
    if unit == "week":
        return calendar.days(calendar.today - timedelta(days=calendar.today.weekday() + 7 * number), 7)
    return Period(calendar.now_ms - _ms((number + 1) * _UNITS[unit]))


def _in_month(found: re.Match[str], calendar: _Calendar, *, since: bool) -> Period | None:
    """A month, or a day of it, in the year that is named, else the last time it began."""
    month = _MONTHS.index(found["month"] or found["its_month"] or found["alone"]) + 1
    day, today = int(found["day"] or found["day_before"] or 1), calendar.today
    try:
        first = date(int(found["year"] or today.year), month, day)
        if not found["year"] and first > today:
            first = date(today.year - 1, month, day)
    except ValueError:
        return None
    if since:
        return calendar.since(first)
    if not found["alone"]:
        return calendar.days(first)
    following = (first + timedelta(days=31)).replace(day=1)
    return Period(calendar.midnight(first), calendar.midnight(following))


def _month_before(calendar: _Calendar) -> Period:
    first = calendar.today.replace(day=1)
    return Period(calendar.midnight((first - timedelta(days=1)).replace(day=1)), calendar.midnight(first))


def _number(word: str) -> int | None:
    number = int(word) if word.isdecimal() and len(word) < 4 else _NUMBERS.get(word)
    return number if number is not None and number < 1000 else None


def _ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
