"""Validity: from when until when a statement holds, where its text says so plainly, and such times as people type them.

"Until 31 May we deploy by hand" ends with that day, and "From 1 March on, Ben leads support" begins with it. What only
mentions a time is not read: what was ("was slow until May"), deadlines, periods of data, things that expire, questions,
conditions, and what recurs. A statement that is hidden by mistake is worse than one that is shown for too long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, tzinfo
from functools import cache
from typing import Literal, NamedTuple

from commonplace.errors import InvalidInput
from commonplace.text.dates import (
    MONTHS,
    NUMBERS,
    UNIT_MS,
    WEEKDAYS,
    Calendar,
    local_day,
    parse_time,
    period_end,
)

# A text that says more than this is about more than one time.
_LONGEST, _MOST_SENTENCES = 600, 2
# A date without a year lies at most so far ahead, or so shortly before.
_FAR_DAYS, _JUST_PAST_DAYS = 300, 60
# Nobody says when a sprint ends: most last two weeks.
_SPRINT_DAYS = 14

_MONTHS = {name[:length]: n for n, name in enumerate(MONTHS, 1) for length in (3, 4, 9)}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|May|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
# The dates that are understood; NAME_ tells the groups of two dates in one expression apart.
_DATE = rf"""(?:(?P<NAME_iso>\d{{4}}-\d\d-\d\d)|(?P<NAME_dotted>\d\d?\.\d\d?\.(?:19|20)\d\d)
|(?P<NAME_slashed>(?!24/7\b)\d\d?/\d\d?(?:/20\d\d)?)(?!/)
|(?:the\ )?(?P<NAME_day>\d\d?)(?:st|nd|rd|th)?(?:\ of)?\ (?P<NAME_month>{_MONTH})(?:,?\ (?P<NAME_year>20\d\d))?
|(?P<NAME_month2>{_MONTH})\ (?:the\ )?(?P<NAME_day2>\d\d?)(?:st|nd|rd|th)?\b(?:,?\ (?P<NAME_year2>20\d\d))?
|(?P<NAME_part>(?:the\ )?(?:end|beginning|start|middle)\ of\ )?
 (?:(?P<NAME_quarter>q[1-4])(?:\ (?P<NAME_quarter_year>20\d\d))?
 |(?P<NAME_which>this|next|the)\ (?P<NAME_span>week|month|quarter|year)
 |(?P<NAME_alone>{_MONTH})(?:\ (?P<NAME_alone_year>20\d\d))?)
|(?:next\ |this\ |coming\ )?(?P<NAME_weekday>{"|".join(WEEKDAYS)})
|(?P<NAME_relative>today|tonight|tomorrow))\b""".replace("\n ", "").replace("\n", "")
_UNTIL = r"(?:until|till|through|thru|up to and including)(?: and including)?(?: on)?"
_UNITS = r"(?P<unit>day|week|month|quarter|year)"
_COUNT = r"\d{1,3}|a|an|couple of|few|two|three|four|five|six|seven|eight|nine|ten"

_RANGE = (
    rf"\b(?P<word>from|between) {_DATE.replace('NAME', 'a')} (?:{_UNTIL}|to|and|[-–—]) {_DATE.replace('NAME', 'b')}"
)
_ENDS = rf"\b(?P<word>{_UNTIL}) {_DATE.replace('NAME', 'a')}"
_NEXT = rf"\bfor the (?:next|coming) (?:(?P<number>{_COUNT}) ){_UNITS}s?\b"
_REST = rf"\b(?:for |until )?the (?:rest|remainder) of (?:the|this) {_UNITS}\b"
_ONLY = (
    r"\b(?:for this (?P<unit>week|month|quarter|year)|this (?P<unit2>week|month|sprint) only"
    r"|for (?:this|the current) (?P<unit3>sprint)(?! (?:is|are|was|were|has|have|will)\b)"
    r"|(?P<day>(?:for )?today only))\b"
)
# First or last in a sentence that says what is so for that time.
_THIS = (
    r"^this (?P<unit>week|month|quarter|sprint)\b(?!'|’)|(?<!^)\bthis (?P<unit2>week|month|quarter|sprint)(?=\s*[.!]?$)"
)
_DURING = rf"\b(?:during|throughout) {_DATE.replace('NAME', 'a')}"
_STARTS = (
    r"\b(?P<word>from|starting(?: on| from| with)?|beginning(?: on| with)?|effective(?: from| as of| on)?"
    rf"|as (?:of|from)|since) {_DATE.replace('NAME', 'a')}(?P<on> on\b(?! the)| onwards?| forward)?"
)
# Said of the statement itself, in a clause of its own.
_OF_ITSELF = (
    r"(?:^|[(\[;:–—\n-]|\. )\s*(?:only |this )?(?:valid|holds|in force|applies)"
    rf" (?P<word>{_UNTIL}|from) {_DATE.replace('NAME', 'a')}"
)

# What says that a time is only mentioned: it recurs, is over, is not sure, or is not when something holds.
_RECURRING = (
    r"\b(?:every|each|always|usually|typically|annual(?:ly)?|yearly|monthly|weekly|daily|per (?:day|week|month|year))\b"
)
_EVERY_YEAR = r"\b(?:every|each) (?:year|month|quarter)\b|\b(?:annual|annually|yearly|always|usually|typically)\b"
_SAID_FIRST = rf"^(?:{_UNTIL}|from|starting) {_DATE.replace('NAME', 'a')}(?: on\b| onwards?)?,"
_UNSURE = r"\b(?:if|unless|whether|would|could|might|suppose|assuming|in case|maybe|perhaps|probably)\b"
_PAST = (
    r"\b(?:was|were|wasn't|weren't|had|hadn't|did|didn't|used to|lasted|ran|worked|stayed|remained|kept|held|lived"
    r"|served|led|owned|took|went|came|got|made|said|told|gave|became|[a-z]{3,}ed (?:from|until|till|through)$)\b"
)
_NOT_HOLDING = (
    # Events that are moved to a day, deadlines and counts.
    r"\b(?:postponed|delayed|deferred|moved|pushed|pushed back|rescheduled|adjourned|put off|extended|prolonged|renewed"
    r"|shifted|slipped|expires?|expired|expiring|paid|booked|due|scheduled|planned|days?|weeks?|months?|hours?|left"
    r"|remaining|not|waits?|waiting|it'?s|long|"
    # Periods of data.
    r"logs?|entries|data|rows?|records?|orders?|tickets?|invoices?|issues?|commits?|messages?|e?mails?|events?"
    r"|reports?|figures?|numbers?|prices?|results?|backups?|snapshots?|files?|changes?|releases?|versions?|requests?"
    r"|transactions?|payments?|statistics|sales|history|created|opened|filed|written|dated|logged|recorded|submitted"
    r"|received|sent|measured|collected|covers?|covering|archived?|deleted?|exported?|imported?|migrated?|counted?)\s*$"
)
# Things whose own end is the fact: that it has passed is worth knowing.
_THINGS = (
    r"\b(?:certificates?|certs?|certified|licen[cs]es?|licen[cs]ed|contracts?|keys?|passwords?|secrets?|domains?"
    r"|subscriptions?|warrant(?:y|ies)|guarantees?|vouchers?|coupons?|credits?|passports?|visas?|permits?|leases?|rent"
    r"|insurance|polic(?:y|ies)|(?:library|bank|credit|id) card|lts|eol|trial|fund(?:ed|s|ing)|grants?|granted"
    r"|extension|checked|registered|runs|valid|deadline)\b"
)
_STATE = r"\b(?:is|are|am|will|has|have|must|may|can|do|does|don't|not|no|only|leads?|owns?|uses?)\b|\w'(?:s|re)\b"
# What is so for a while, and what happens or is counted in that time.
_IS_SO = r"\b(?:is|are|leads?|owns?|covers?|handles?|goes?|stays?|must|needs?|don't|do not)\b"
_DID = r"(?<!is )(?<!are )(?<!be )(?<!not )\b[a-z]{2,}[^e]ed\b"
_HAPPENS = (
    r"^,?\s*(?:is|was|are|will)\b|\b(?:is|are|be)[\s.!]*$|\b(?:will|shall|going to|happens?|plan(?:s|ned)?|due)\b"
    r"|\b\w{3,}ing\b|\b(?:sales|revenue|profit|costs|growth|churn|figures|numbers)\b"
)
_NOT_AFTER = (
    r"\s*(?:after|before|following|ago|last year|,? when|,? at which|and again|,? (?:and |but )?then\b|,? after)\b"
)


class ReadValidity(NamedTuple):
    """The interval that a text states, from a moment up to but without another; None where it states none."""

    from_ms: int | None = None
    until_ms: int | None = None


NOTHING_READ = ReadValidity()


def read_validity(text: str, stated_ms: int, zone: tzinfo | None = None) -> ReadValidity:
    """From when until when a statement holds, by its own words, given when it was said."""
    if len(text) > _LONGEST or not _search(rf"\d|day\b|week|month|quarter|year|sprint|tonight|tomorrow|{_MONTH}", text):
        return NOTHING_READ
    plain = _compiled(r"`[^`]*`|\"[^\"]*\"|“[^“”]*”|https?://\S+").sub(" … ", text).strip()
    try:
        moment = _Moment(stated_ms, zone)
        if found := _search(_OF_ITSELF, plain):
            return _unless_over(_interval(found["word"], _dated(found, "a", moment), moment), moment)
        sentences = [one for one in _compiled(r"(?<=[.!?])\s+|\n+").split(plain) if one.strip()]
        if not sentences or len(sentences) > _MOST_SENTENCES:
            return NOTHING_READ
        return _unless_over(_read_sentence(sentences[0].strip(), moment), moment)
    except (ValueError, OverflowError, OSError):
        return NOTHING_READ


def _read_sentence(sentence: str, moment: _Moment) -> ReadValidity:
    # Of several statements only one may hold then.
    if sentence.endswith("?") or ";" in sentence or _search(_UNSURE, sentence):
        return NOTHING_READ
    # What is said first is said of all that follows, also of what happens every Monday.
    if _search(_RECURRING, sentence) and (not _search(_SAID_FIRST, sentence) or _search(_EVERY_YEAR, sentence)):
        return NOTHING_READ
    if found := _search(_RANGE, sentence):
        begin, end = _dated(found, "a", moment), _dated(found, "b", moment)
        # A season, from May to September, comes again.
        if begin is None or end is None or begin.first != begin.last or end.first != end.last:
            return NOTHING_READ
        if end.last < begin.first or not _holds_then(sentence, found, needs_state=True):
            return NOTHING_READ
        return ReadValidity(moment.midnight(begin.first), moment.midnight(end.last + timedelta(days=1)))
    for pattern in (_REST, _ENDS, _NEXT, _ONLY):
        if found := _search(pattern, sentence):
            days = _dated(found, "a", moment) if pattern == _ENDS else _spoken_span(found, moment)
            if not _holds_then(sentence, found) or ("sprint" in found[0].lower() and _search(_DID, sentence)):
                return NOTHING_READ
            return _interval("until", days, moment)
    if (found := _search(_DURING, sentence)) and _is_so_then(sentence, found):
        return _throughout(found, moment)
    if (found := _search(_THIS, sentence)) and _is_so_then(sentence, found):
        return _interval("until", _spoken_span(found, moment), moment)
    if found := _search(_STARTS, sentence):
        before, after, word = sentence[: found.start()], sentence[found.end() :], found["word"].lower()
        closed = re.match(r"\s*(?:[,.;:!)]|$)", after) is not None
        # "from 1 March" alone is where something comes from; first in its sentence, or with "on", it is a beginning.
        begins = bool(found["on"]) or not before.strip(" (") or (closed and not word.startswith(("from", "since")))
        if begins and _holds_then(sentence, found):
            return _interval(word, _dated(found, "a", moment), moment)
    return NOTHING_READ


def _holds_then(sentence: str, found: re.Match[str], *, needs_state: bool = False) -> bool:
    """Whether what stands around a time is something that holds then."""
    passive = _compiled(r"\b(?:is|are|be) (?:kept|held|led|made|owned|served|told)\b")
    before, after = (passive.sub("is", part) for part in (sentence[: found.start()], sentence[found.end() :]))
    if _compiled(_NOT_AFTER).match(after) or _search(_PAST, after):
        return False
    # After a comma it may be about the last part only.
    if any(_search(pattern, before) for pattern in (_PAST, _NOT_HOLDING, _THINGS, r"[,:].*\w")):
        return False
    if needs_state and before.strip(" ("):
        return bool(_search(_STATE, before)) and not _search(r"\b(?:is|are|be|comes?)\s*$", before)
    return True


def _is_so_then(sentence: str, found: re.Match[str]) -> bool:
    """Whether a sentence says what is so at a time, and not what happens then."""
    rest = sentence[: found.start()] + sentence[found.end() :]
    return (
        bool(_search(_IS_SO, rest))
        and not any(_search(pattern, rest) for pattern in (_HAPPENS, _DID, _PAST, _THINGS))
        and _holds_then(sentence, found)
    )


def _throughout(found: re.Match[str], moment: _Moment) -> ReadValidity:
    """All of a time that is named with its year, or as this or the next one: others may come again."""
    days = _dated(found, "a", moment)
    if days is None or not (found["a_quarter_year"] or found["a_alone_year"] or found["a_which"]) or found["a_part"]:
        return NOTHING_READ
    return ReadValidity(moment.midnight(days.first), moment.midnight(days.last + timedelta(days=1)))


def _interval(word: str, days: _Days | None, moment: _Moment) -> ReadValidity:
    if days is None:
        return NOTHING_READ
    if _search(_UNTIL, word):
        return ReadValidity(until_ms=moment.midnight(days.last + timedelta(days=1)))
    if word.lower() == "since" and days.first > moment.today:
        return NOTHING_READ
    return ReadValidity(from_ms=moment.midnight(days.first))


def _unless_over(read: ReadValidity, moment: _Moment) -> ReadValidity:
    """What was over when it was said is history: that it was so stays true."""
    return NOTHING_READ if read.until_ms is not None and read.until_ms <= moment.now_ms else read


class _Days(NamedTuple):
    """The first and the last day of what a date names."""

    first: date
    last: date


class _Moment(Calendar):
    """When something was said."""

    def nearest(self, of_year: Callable[[int], date]) -> date | None:
        """A date without a year: the next such day, or one that has only just passed; None if that is unclear."""
        for year in (self.today.year - 1, self.today.year, self.today.year + 1):
            day = of_year(year)
            if -_JUST_PAST_DAYS <= (day - self.today).days <= _FAR_DAYS:
                return day
        return None


def _dated(found: re.Match[str], name: str, moment: _Moment) -> _Days | None:
    """The days that the groups of a date name; None where that is no day, or it is unclear of which year."""

    def group(key: str) -> str:
        return (found[f"{name}_{key}"] or "").lower().rstrip(".")

    if group("iso"):
        return _one_day(date.fromisoformat(group("iso")))
    if group("dotted"):
        day, month, year = map(int, group("dotted").split("."))
        return _one_day(date(year, month, day))
    if group("slashed"):
        return _one_day(_slashed_day(group("slashed"), moment))
    if name_of_month := group("month") or group("month2"):
        month, number = _MONTHS[name_of_month], int(group("day") or group("day2"))
        named_year = group("year") or group("year2")
        if named_year:
            return _one_day(date(int(named_year), month, number))
        return _one_day(moment.nearest(lambda year: date(year, month, number)))
    if group("weekday"):
        ahead = (WEEKDAYS.index(group("weekday")) - moment.today.weekday() - 1) % 7 + 1
        return _one_day(moment.today + timedelta(days=ahead))
    if group("relative"):
        return _one_day(moment.today + timedelta(days=int(group("relative") == "tomorrow")))
    part = group("part").removeprefix("the ").strip()
    if group("span"):
        # "until the week" names none.
        days = None if group("which") == "the" and not part else _span_of(moment.today, group("span"))
        if days is not None and group("which") == "next":
            days = _span_of(days.last + timedelta(days=1), group("span"))
    else:
        months = 3 if group("quarter") else 1
        month = 3 * int(group("quarter")[1]) - 2 if group("quarter") else _MONTHS[group("alone")]
        named_year = group("quarter_year") or group("alone_year")
        first = date(int(named_year), month, 1) if named_year else moment.nearest(lambda year: date(year, month, 1))
        days = None if first is None else _Days(first, _months_later(first, months) - timedelta(days=1))
    return days if days is None or not part else _part_of(days, part)


def _one_day(day: date | None) -> _Days | None:
    return None if day is None else _Days(day, day)


def _slashed_day(text: str, moment: _Moment) -> date | None:
    """5/31 or 31/5; None if either number may be the month."""
    first, second, *named_year = map(int, text.split("/"))
    if first != second and first <= 12 and second <= 12:
        return None
    month, number = (second, first) if first > 12 else (first, second)
    return date(named_year[0], month, number) if named_year else moment.nearest(lambda year: date(year, month, number))


def _part_of(days: _Days, part: str) -> _Days:
    if part.startswith("end"):
        return _Days(days.last, days.last)
    if part.startswith("middle"):
        middle = days.first + (days.last - days.first) / 2
        return _Days(middle, middle)
    return _Days(days.first, days.first)


def _spoken_span(found: re.Match[str], moment: _Moment) -> _Days | None:
    """The days of "the next two weeks", "the rest of the month" and "this week only"."""
    groups = found.groupdict()
    if groups.get("day"):
        return _one_day(moment.today)
    unit = groups.get("unit") or groups.get("unit2") or groups.get("unit3") or ""
    if unit.lower() == "sprint":
        return _Days(moment.today, moment.today + timedelta(days=_SPRINT_DAYS))
    if "number" not in groups:
        return _Days(moment.today, moment.today if unit == "day" else _span_of(moment.today, unit).last)
    word = (groups["number"] or "a").lower()
    number = int(word) if word.isdecimal() else NUMBERS[word.removesuffix(" of")]
    if unit in ("day", "week"):
        return _Days(moment.today, moment.today + timedelta(days=number * (7 if unit == "week" else 1)))
    return _Days(moment.today, _months_later(moment.today, number * {"month": 1, "quarter": 3, "year": 12}[unit]))


def _span_of(day: date, span: str) -> _Days:
    """The week, month, quarter or year of a day."""
    if span == "week":
        monday = day - timedelta(days=day.weekday())
        return _Days(monday, monday + timedelta(days=6))
    months = {"month": 1, "quarter": 3, "year": 12}[span]
    first = date(day.year, (day.month - 1) // months * months + 1, 1)
    return _Days(first, _months_later(first, months) - timedelta(days=1))


def _months_later(day: date, months: int) -> date:
    """The same day some months later, or the last one of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return min(date(year, month + 1, 1) + timedelta(days=day.day - 1), following - timedelta(days=1))


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return _compiled(pattern).search(text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # "may" is a verb: only with its capital it is a month.
    return re.compile(pattern.replace("May", "(?-i:May)"), re.IGNORECASE)


NO_BOUND: Literal["none"] = "none"
"""What is written for no bound at all, also where the text names one."""
Bound = int | Literal["none"] | None
"""A moment in milliseconds, no bound, or nothing said."""
_MOMENT_HINT = (
    "Write it like now, 2026-05-31, 31 May, end of Q3, 30d, in 2 weeks or 2026-05-31T18:00; none for no bound."
)


def parse_moment(text: str, now_ms: int, *, end: bool, zone: tzinfo | None = None) -> int:
    """A moment as people type it: a day begins at midnight, or with `end` it ends at the next; 30d are from now on."""
    text = " ".join(text.split())
    if span := re.fullmatch(r"(?:in )?([0-9]{1,4}) ?(min|h|d|w|y|days?|weeks?|years?|hours?|minutes?)", text.lower()):
        unit = span[2].rstrip("s")
        return now_ms + int(span[1]) * UNIT_MS["min" if unit.startswith("min") else unit[0]]
    if text.lower() == "now":
        return now_ms
    moment = _Moment(now_ms, zone)
    if text.lower() == "yesterday":
        return moment.midnight(moment.today - timedelta(days=0 if end else 1))
    found = re.fullmatch(_DATE.replace("NAME", "a").replace("May", "may"), text, re.IGNORECASE)
    try:
        days = None if found is None else _dated(found, "a", moment)
        if days is not None:
            return moment.midnight(days.last + timedelta(days=1)) if end else moment.midnight(days.first)
        return parse_time(text, local=True)
    except (InvalidInput, ValueError, OverflowError, OSError):
        raise InvalidInput(f"{text[:60]!r} is not a time.", _MOMENT_HINT) from None


def parse_bound(when: datetime | int | str | None, now_ms: int, *, end: bool) -> Bound:
    """A bound as somebody gives it; None and an empty text say nothing."""
    if isinstance(when, datetime):
        return int(when.timestamp() * 1000)
    if when is None or isinstance(when, int) or not when.strip():
        return when if isinstance(when, int) else None
    return NO_BOUND if when.strip().lower() == NO_BOUND else parse_moment(when, now_ms, end=end)


def parse_as_of(when: datetime | int | str, now_ms: int) -> int:
    """The moment that somebody asks about: the end of a day or another period that is named."""
    if isinstance(when, datetime):
        return int(when.timestamp() * 1000)
    return when if isinstance(when, int) else period_end(when, now_ms) - 1


def describe_interval(from_ms: int | None, until_ms: int | None, zone: tzinfo | None = None) -> str:
    """An interval for people: "from 2026-03-01 to 2026-05-31", by its first and its last day."""
    first = "" if from_ms is None else f"from {local_day(from_ms, zone)}"
    last = "" if until_ms is None else f"{'to' if first else 'until'} {local_day(until_ms - 1, zone)}"
    return " ".join(part for part in (first, last) if part)
