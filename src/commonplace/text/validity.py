"""Validity: from when until when a statement holds, where its text says so plainly, and such times as people type them.

"Until 31 May we deploy by hand" ends with that day, and "From 1 March on, Ben leads support" begins with it. The dates
of a sentence are found first (date_grammar.py), then what stands before each. What only mentions a time is not read:
what was ("was slow until May"), deadlines, periods of data, things that expire, questions, conditions, and what recurs.
A statement that is hidden by mistake is worse than one that is shown for too long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from functools import cache
from typing import Literal, NamedTuple

from commonplace.errors import InvalidInput
from commonplace.text.date_grammar import DateMention, Days, date_mentions, days_of, whole_date
from commonplace.text.dates import UNIT_MS, Calendar, local_day, parse_time, period_end
from commonplace.text.word_lists import any_of

# A text that says more than this is about more than one time.
_LONGEST, _MOST_SENTENCES = 600, 2
_QUOTED = r"`[^`]*`|\"[^\"]*\"|“[^“”]*”|https?://\S+"
_SENTENCE_END = r"(?<=[.!?])\s+|\n+"

# What stands before a date and says what the date means for a statement.
_UNTIL = r"(?:until|till|through|thru|up to and including)(?: and including)?(?: on)?"
_BEFORE_DATE = (
    rf"\b(?:(?P<until>{_UNTIL})|(?P<from>from)|(?P<between>between)|(?P<since>since)|(?P<during>during|throughout)|(?P<for>for)"
    r"|(?P<starting>(?:starting|beginning)(?: on| from| with)?|effective(?: from| as of| on)?|as (?:of|from))) \Z"
)
_JOINS_SPAN = rf" (?:{_UNTIL}|to|and|[-–—]) "
_LONGEST_BEFORE = 40
# What says after a date that it is a beginning.
_ON = r" on\b(?! the)| onwards?| forward"
# Said of the statement itself, in a clause of its own.
_OF_ITSELF = r"(?:^|[(\[;:–—\n-]|\. )\s*(?:only |this )?(?:valid|holds|in force|applies) \Z"

# What says that a time is only mentioned: it recurs, is over, is not sure, or is not when something holds.
_RECURRING = (
    r"\b(?:every|each|always|usually|typically|annual(?:ly)?|yearly|monthly|weekly|daily|per (?:day|week|month|year))\b"
)
_EVERY_YEAR = r"\b(?:every|each) (?:year|month|quarter)\b|\b(?:annual|annually|yearly|always|usually|typically)\b"
_UNSURE = r"\b(?:if|unless|whether|would|could|might|suppose|assuming|in case|maybe|perhaps|probably)\b"
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


class _Dated(NamedTuple):
    """A date in a sentence, the word that says what it means, and what stands around both."""

    mention: DateMention
    meaning: str
    before: str
    after: str
    # Of the second date of "from 1 May to 5 May".
    last: DateMention | None = None

    @property
    def around(self) -> str:
        return self.before + self.after


def read_validity(text: str, stated_ms: int, zone: tzinfo | None = None) -> ReadValidity:
    """From when until when a statement holds, by its own words, given when it was said."""
    if len(text) > _LONGEST:
        return NOTHING_READ
    plain = _compiled(_QUOTED).sub(" … ", text).strip()
    dates = _dates_in(plain)
    if not dates:
        return NOTHING_READ
    calendar = Calendar(stated_ms, zone)
    try:
        read = _read(plain, dates, calendar)
    except (ValueError, OverflowError, OSError):
        return NOTHING_READ
    # What was over when it was said is history: that it was so stays true.
    return NOTHING_READ if read.until_ms is not None and read.until_ms <= stated_ms else read


def _dates_in(text: str) -> list[DateMention]:
    # "may" is a verb: only with its capital it is a month.
    return [one for one in date_mentions(text) if not re.search(r"\bmay\b", text[one.start : one.end])]


def _read(plain: str, dates: list[DateMention], calendar: Calendar) -> ReadValidity:
    for date in dates:
        found = _dated(plain, date, None)
        if found.meaning in ("until", "from") and _search(_OF_ITSELF, found.before):
            return _interval(found, calendar)
    sentences = [one for one in _compiled(_SENTENCE_END).split(plain) if one.strip()]
    if len(sentences) > _MOST_SENTENCES:
        return NOTHING_READ
    sentence = sentences[0].strip()
    own = [date for date in dates if date.end <= len(sentence)]
    following: list[DateMention | None] = [*own[1:], None]
    found_in = [_dated(sentence, date, after) for date, after in zip(own, following, strict=True)]
    return _interval_of(found_in, calendar) if _is_plain(sentence, found_in) else NOTHING_READ


def _is_plain(sentence: str, found_in: list[_Dated]) -> bool:
    """Whether a sentence states one thing, once, for sure."""
    # Of several statements only one may hold then.
    if sentence.endswith("?") or ";" in sentence or _search(_UNSURE, sentence):
        return False
    return not _search(_RECURRING, sentence) or _is_said_first(sentence, found_in)


def _interval_of(found_in: list[_Dated], calendar: Calendar) -> ReadValidity:
    for meaning, holds in _RULES:
        for one in found_in:
            if one.meaning == meaning:
                return _interval(one, calendar) if holds(one) else NOTHING_READ
    return NOTHING_READ


def _dated(sentence: str, mention: DateMention, following: DateMention | None) -> _Dated:
    """A date with what it means in its sentence; no meaning if it is only mentioned."""
    start, end = mention.start, mention.end
    found = _compiled(_BEFORE_DATE).search(sentence, max(0, start - _LONGEST_BEFORE), start)
    before, after = sentence[: found.start() if found else start], sentence[end:]
    word = (found.lastgroup or "") if found else ""
    if word in ("from", "between"):
        if following and _compiled(_JOINS_SPAN).fullmatch(sentence, end, following.start):
            return _Dated(mention, "span", before, sentence[following.end :], following)
        word = word.replace("between", "none")
    if word in ("", "for"):
        word = _meaning_alone(mention, word, before, after)
    return _Dated(mention, word, before, after)


def _meaning_alone(mention: DateMention, word: str, before: str, after: str) -> str:
    """What "the rest of the week" and "this sprint" mean by themselves, or after "for"."""
    if mention.kind == "rest" or (mention.kind == "coming" and word):
        return "until"
    is_this = mention.is_this_unit
    if after.startswith(" only") and (is_this or mention.word == "today"):
        return "until"
    if is_this and word:
        return "for this"
    return "this" if is_this and mention.word != "year" and _is_first_or_last(before, after) else ""


def _is_first_or_last(before: str, after: str) -> bool:
    return (not before and not after.startswith(("'", "’"))) or not after.strip(" .!")


def _is_said_first(sentence: str, found_in: list[_Dated]) -> bool:
    """Whether a time is said first of all that follows, also of what happens every Monday."""
    if not found_in or _search(_EVERY_YEAR, sentence):
        return False
    first = found_in[0]
    said = first.meaning in ("until", "from", "starting") and not first.before
    return said and bool(_compiled(r"(?: on\b| onwards?)?,").match(first.after))


def _holds_then(found: _Dated) -> bool:
    """Whether what stands around a time is something that holds then."""
    if _compiled(_NOT_AFTER).match(found.after) or _search(_past(), found.after):
        return False
    # After a comma it may be about the last part only.
    refused = (_past(), rf"{any_of('not_holding')}\s*$", rf"{any_of('things_that_end')}", r"[,:].*\w")
    return not any(_search(pattern, found.before) for pattern in refused)


def _holds_between(found: _Dated) -> bool:
    if not _holds_then(found):
        return False
    if not found.before.strip(" ("):
        return True
    return bool(_search(_STATE, found.before)) and not _search(r"\b(?:is|are|be|comes?)\s*$", found.before)


def _is_so_then(found: _Dated) -> bool:
    """Whether a sentence says what is so at a time, and not what happens then."""
    refused = (_HAPPENS, _DID, _past(), rf"{any_of('things_that_end')}")
    if not _search(_IS_SO, found.around) or any(_search(pattern, found.around) for pattern in refused):
        return False
    return _holds_then(found)


def _is_so_throughout(found: _Dated) -> bool:
    """The same of a time that does not come again: "Q1 2027", "next week"."""
    return found.mention.is_of_one_year and not found.mention.part and _is_so_then(found)


def _holds_this_time(found: _Dated) -> bool:
    tells = _search(r"^ (?:is|are|was|were|has|have|had|will)\b", found.after) or _search(_DID, found.around)
    return not tells and _holds_then(found)


def _begins_then(found: _Dated) -> bool:
    """Whether something begins: "from 1 March" alone is where it comes from, but first in its sentence it begins."""
    first = not found.before.strip(" (")
    closed = re.match(r"\s*(?:[,.;:!)]|$)", found.after) is not None
    begins = first or _compiled(_ON).match(found.after) or (closed and found.meaning == "starting")
    return bool(begins) and _holds_then(found)


# What a date means, and when that holds. The first that a sentence has decides.
_RULES: tuple[tuple[str, Callable[[_Dated], bool]], ...] = (
    ("span", _holds_between),
    ("until", _holds_then),
    ("for this", _holds_this_time),
    ("during", _is_so_throughout),
    ("this", _is_so_then),
    ("from", _begins_then),
    ("starting", _begins_then),
    ("since", _begins_then),
)


def _interval(found: _Dated, calendar: Calendar) -> ReadValidity:
    days = days_of(found.mention, calendar.today)
    if days is None:
        return NOTHING_READ
    from_ms = calendar.midnight(days.first)
    if found.meaning in ("from", "starting", "since"):
        return NOTHING_READ if found.meaning == "since" and days.first > calendar.today else ReadValidity(from_ms)
    if found.last is not None:
        last = days_of(found.last, days.first)
        # A season, from May to September, comes again.
        if last is None or days.first != days.last or last.first != last.last or last.last < days.first:
            return NOTHING_READ
        return ReadValidity(from_ms, _after(last, calendar))
    return ReadValidity(from_ms if found.meaning == "during" else None, _after(days, calendar))


def _after(days: Days, calendar: Calendar) -> int:
    """The midnight after the last of some days."""
    return calendar.midnight(days.last + timedelta(days=1))


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return _compiled(pattern).search(text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@cache
def _past() -> str:
    """An expression for words of the past; "is kept" is none."""
    return rf"(?<!\bis )(?<!\bare )(?<!\bbe ){any_of('past_verbs')}"


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
    calendar = Calendar(now_ms, zone)
    mention = whole_date(text)
    try:
        days = None if mention is None else days_of(mention, calendar.today)
        if days is None:
            return parse_time(text, local=True)
        return _after(days, calendar) if end else calendar.midnight(days.first)
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
