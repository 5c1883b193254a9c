"""Questions about time rather than about a topic: "what did we do last?", "what happened yesterday?"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_WORD = re.compile(r"\w+")
# What makes it a question about time. All other words must be among those that any such question has.
_MARKERS = frozenset("last latest recent recently lately newest previous previously yesterday today week off".split())
_FILLERS = frozenset(
    "a about all am an and any anything are at been continue conversation conversations did discuss discussed do does"
    " doing done for from go going had happen happened have i in is it just know leave left let long made make me most"
    " much my new next now of on our out over please recall remember resume s session sessions so something start stop"
    " stopped t talk talked task tasks tell that the then there thing things this time to until up us very was we were"
    " what when where which who with work worked working you your far back show summarize summary".split()
)
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, from a moment up to but without another; None is open."""

    from_ms: int | None = None
    to_ms: int | None = None

    def holds(self, ms: int) -> bool:
        return (self.from_ms is None or ms >= self.from_ms) and (self.to_ms is None or ms < self.to_ms)


def asked_period(question: str, now_ms: int) -> Period | None:
    """The time that a question is about, if it is about nothing else; None for every other question."""
    words = _WORD.findall(question.lower())
    marks = [word for word in words if word in _MARKERS]
    if not marks or any(word not in _MARKERS and word not in _FILLERS for word in words):
        return None
    if marks == ["off"] and not {"left", "leave"} & set(words):
        return None
    today = _midnight(now_ms)
    if "yesterday" in marks:
        return Period(today - _DAY_MS, today)
    if "today" in marks:
        return Period(today)
    if "week" in marks:
        monday = today - _DAY_MS * datetime.fromtimestamp(today / 1000, UTC).weekday()
        return Period(monday - 7 * _DAY_MS, monday) if "last" in marks else Period(monday)
    return Period()


def _midnight(now_ms: int) -> int:
    """The beginning of the day, in UTC as all times are kept."""
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms)
    return now_ms - (now.hour * 3600 + now.minute * 60 + now.second) * 1000 - now.microsecond // 1000
