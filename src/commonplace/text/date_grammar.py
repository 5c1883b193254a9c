"""The dates that a text names: "31 May", "end of Q3", "next Monday", "the next two weeks"; and which days those are.

A mention is read without knowing when it was written. Statements look ahead: `days_of` takes a date without a year for
the next such day. Questions look back (dates.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from typing import Literal, NamedTuple

MONTHS = "january february march april may june july august september october november december".split()
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBERS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}
NUMBERS |= {"a": 1, "an": 1, "couple": 2, "few": 3}
# A date without a year lies at most so far ahead, or so shortly before.
_FAR_DAYS, _JUST_PAST_DAYS = 300, 60
# Nobody says when a sprint ends: most last two weeks.
_SPRINT_DAYS = 14
MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}
_RELATIVE = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}

_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_YEAR = r"(?:19|20)\d\d"
_UNITS = "day|week|month|quarter|year"
_DATE = rf"""(?xi) \b(?:
    (?P<iso> \d{{4}}-\d\d-\d\d )
  | (?P<dotted> \d\d?\.\d\d?\.{_YEAR} )
  | (?P<slashed> (?!24/7\b)\d\d?/\d\d?(?:/{_YEAR})? )(?!/)
  | (?:the\ )?(?P<day>\d\d?)(?:st|nd|rd|th)?(?:\ of)?\ (?P<month>{_MONTH})\b\.?(?:,?\ (?P<year>{_YEAR}))?
  | (?P<month_first>{_MONTH})\b\.?\ (?:the\ )?(?P<day_after>\d\d?)(?:st|nd|rd|th)?\b(?:,?\ (?P<year_after>{_YEAR}))?
  | (?:the\ )?(?:rest|remainder)\ of\ (?:the|this)\ (?P<rest>{_UNITS})
  | the\ (?:next|coming)\ (?P<count>\d{{1,3}}|{"|".join(NUMBERS)})(?:\ of)?\ (?P<coming>{_UNITS})s?
  | (?:this|the\ current)\ (?P<sprint>sprint)
  | (?:(?:the\ )?(?P<part>end|beginning|start|middle)\ of\ )?
    (?: q(?P<quarter>[1-4])(?:\ (?P<quarter_year>{_YEAR}))?
      | (?P<which>this|next|last|the)\ (?P<unit>week|month|quarter|year)
      | (?P<alone>{_MONTH})\b\.?(?:,?\ (?P<alone_year>{_YEAR}))? )
  | (?:(?:next|this|coming|last)\ )?(?P<weekday>{"|".join(WEEKDAYS)})
  | (?P<relative>{"|".join(_RELATIVE)})
)\b"""

DateKind = Literal["day", "month", "quarter", "unit", "rest", "coming", "weekday", "relative"]


_WORD_KINDS: tuple[DateKind, ...] = ("rest", "weekday", "relative")


class DateMention(NamedTuple):
    """A date in a text, and where it stands. What it does not say is 0 or empty.

    `word` is the unit, the weekday or "tomorrow"; `which` tells "this week" from the next one, and `part` is "end" in
    "end of Q3".
    """

    kind: DateKind
    start: int
    end: int
    year: int = 0
    month: int = 0
    day: int = 0
    word: str = ""
    which: str = ""
    part: str = ""
    number: int = 1

    @property
    def is_this_unit(self) -> bool:
        """Whether it is all of "this week"."""
        return self.kind == "unit" and self.which == "this" and not self.part

    @property
    def is_of_one_year(self) -> bool:
        """Whether it comes only once: "Q1 2027" and "next week", but not "December"."""
        return bool(self.year or self.which)


class Days(NamedTuple):
    """The first and the last day of what a date names."""

    first: date
    last: date


@cache
def _date_pattern() -> re.Pattern[str]:
    return re.compile(_DATE)


def date_mentions(text: str) -> list[DateMention]:
    """The dates that a text names, in their order. What could be two different days is none."""
    found: list[DateMention] = []
    for match in _date_pattern().finditer(text):
        mention = _mention(match)
        if mention is not None:
            found.append(mention)
    return found


def whole_date(text: str) -> DateMention | None:
    """The date that a text is, and nothing else."""
    match = _date_pattern().fullmatch(text)
    return None if match is None else _mention(match)


def _mention(match: re.Match[str]) -> DateMention | None:
    start, end = match.span()

    def numeral(*groups: str) -> int:
        return int(next(filter(None, map(match.group, groups)), "0"))

    def word(group: str) -> str:
        return str(match[group] or "").lower()

    if numbers := match["iso"] or match["dotted"] or match["slashed"]:
        return _numeric(numbers, start, end)
    if written := match["month"] or match["month_first"]:
        year, day = numeral("year", "year_after"), numeral("day", "day_after")
        return DateMention("day", start, end, year, _month_number(written), day)
    if match["alone"] or match["quarter"]:
        kind: DateKind = "month" if match["alone"] else "quarter"
        month = _month_number(match["alone"]) if match["alone"] else 3 * numeral("quarter") - 2
        return DateMention(kind, start, end, numeral("alone_year", "quarter_year"), month, part=word("part"))
    if match["unit"]:
        return DateMention("unit", start, end, word=word("unit"), which=word("which"), part=word("part"))
    if match["sprint"]:
        return DateMention("unit", start, end, word="sprint", which="this")
    if match["coming"]:
        count = word("count")
        return DateMention("coming", start, end, word=word("coming"), number=NUMBERS.get(count) or int(count))
    for other in _WORD_KINDS:
        if match[other]:
            return DateMention(other, start, end, word=word(other))
    return None


def _month_number(written: str) -> int:
    return next(n for n, name in enumerate(MONTHS, 1) if name.startswith(written.lower()[:3]))


def _numeric(text: str, start: int, end: int) -> DateMention | None:
    """2026-05-31, 31.5.2026, 5/31 or 31/5; None if either number before or after the slash may be the month."""
    first, second, *rest = map(int, re.split("[-./]", text))
    if "-" in text:
        return DateMention("day", start, end, first, second, rest[0])
    if "/" in text and first != second and first <= 12 and second <= 12:
        return None
    day, month = (first, second) if first > 12 or "." in text else (second, first)
    return DateMention("day", start, end, rest[0] if rest else 0, month, day)


def days_of(mention: DateMention, today: date) -> Days | None:
    """The days that a statement of today means; None where there is no such day, or it is unclear of which year."""
    try:
        days = _DAYS_OF[mention.kind](mention, today)
    except (ValueError, OverflowError):
        return None
    if days is None or not mention.part:
        return days
    if mention.part == "end":
        return Days(days.last, days.last)
    if mention.part == "middle":
        middle = days.first + (days.last - days.first) / 2
        return Days(middle, middle)
    return Days(days.first, days.first)


def _one_day(mention: DateMention, today: date) -> Days | None:
    day = _nearest(mention, today)
    return None if day is None else Days(day, day)


def _months(mention: DateMention, today: date) -> Days | None:
    first = _nearest(mention, today)
    months = MONTHS_OF[mention.kind]
    return None if first is None else Days(first, months_later(first, months) - timedelta(days=1))


def _nearest(mention: DateMention, today: date) -> date | None:
    """The day that a date begins with; without a year the next one, or one that has only just passed."""
    if mention.year:
        return date(mention.year, mention.month, mention.day or 1)
    for year in (today.year - 1, today.year, today.year + 1):
        day = date(year, mention.month, mention.day or 1)
        if -_JUST_PAST_DAYS <= (day - today).days <= _FAR_DAYS:
            return day
    return None


def _unit(mention: DateMention, today: date) -> Days | None:
    if mention.word == "sprint":
        return Days(today, today + timedelta(days=_SPRINT_DAYS))
    # "until the week" names none.
    if mention.which == "the" and not mention.part:
        return None
    days = _unit_around(today, mention.word)
    if mention.which == "next":
        return _unit_around(days.last + timedelta(days=1), mention.word)
    if mention.which == "last":
        return _unit_around(days.first - timedelta(days=1), mention.word)
    return days


def _unit_around(day: date, unit: str) -> Days:
    """The week, month, quarter or year of a day."""
    if unit == "day":
        return Days(day, day)
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return Days(monday, monday + timedelta(days=6))
    months = MONTHS_OF[unit]
    first = date(day.year, (day.month - 1) // months * months + 1, 1)
    return Days(first, months_later(first, months) - timedelta(days=1))


def _rest(mention: DateMention, today: date) -> Days:
    return Days(today, _unit_around(today, mention.word).last)


def _coming(mention: DateMention, today: date) -> Days:
    if mention.word in MONTHS_OF:
        return Days(today, months_later(today, mention.number * MONTHS_OF[mention.word]))
    return Days(today, today + timedelta(days=mention.number * (7 if mention.word == "week" else 1)))


def months_later(day: date, months: int) -> date:
    """The same day some months later, or the last one of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return min(date(year, month + 1, 1) + timedelta(days=day.day - 1), following - timedelta(days=1))


def _weekday(mention: DateMention, today: date) -> Days:
    ahead = (WEEKDAYS.index(mention.word) - today.weekday() - 1) % 7 + 1
    day = today + timedelta(days=ahead)
    return Days(day, day)


def _relative(mention: DateMention, today: date) -> Days:
    day = today + timedelta(days=_RELATIVE[mention.word])
    return Days(day, day)


_DAYS_OF: dict[DateKind, Callable[[DateMention, date], Days | None]] = {
    "day": _one_day,
    "month": _months,
    "quarter": _months,
    "unit": _unit,
    "rest": _rest,
    "coming": _coming,
    "weekday": _weekday,
    "relative": _relative,
}
