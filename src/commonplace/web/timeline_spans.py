"""Stretches of the timeline: everything, a year, a month or a day; what lies around them, and bars to go into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from commonplace.errors import InvalidInput
from commonplace.memory.activity import DAY_MS, PerDay, day_of, midnight
from commonplace.memory.remember import EARLIEST_MS, LATEST_MS
from commonplace.model import KINDS, Kind

# Beyond so many months, everything is told by years.
MONTHS = 30
HEIGHT = 72
_HINT = "Write a year as 2025, a month as 2025-03, a day as 2025-03-15."


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time: `first` is its first day, and its bars are of what is one step smaller."""

    unit: str
    first: date | None = None

    @property
    def from_ms(self) -> int:
        return EARLIEST_MS if self.first is None else midnight(self.first)

    @property
    def to_ms(self) -> int:
        return LATEST_MS + 1 if self.first is None else _after(self.first, self.unit)

    @property
    def around(self) -> Span:
        """What its bars are of: a day is shown among those of its month."""
        return self.up if self.unit == "day" else self

    @property
    def bars_from_ms(self) -> int:
        return self.around.from_ms

    @property
    def bars_to_ms(self) -> int:
        return self.around.to_ms

    @property
    def up(self) -> Span:
        """The larger one that holds it."""
        if self.first is None or self.unit == "year":
            return Span("ever")
        return _around(self.first, "month" if self.unit == "day" else "year")

    @property
    def way(self) -> tuple[Span, ...]:
        """From everything down to this."""
        return (self,) if self.first is None else (*self.up.way, self)

    @property
    def name(self) -> str:
        return "" if self.first is None else self.first.isoformat()[: {"year": 4, "month": 7}.get(self.unit, 10)]

    @property
    def asked(self) -> Mapping[str, str]:
        """How it is asked for in an address."""
        return {} if self.first is None else {self.unit: self.name}

    def holds(self, day: date) -> bool:
        return self.from_ms <= midnight(day) < self.to_ms

    @property
    def before(self) -> Span | None:
        """The same unit before."""
        if self.first is None or self.first == date.min:
            return None
        return _around(self.first - timedelta(days=1), self.unit)

    @property
    def after(self) -> Span | None:
        return None if self.to_ms > LATEST_MS else _around(day_of(self.to_ms), self.unit)


@dataclass(frozen=True, slots=True)
class Piece:
    """What one kind has of a bar, from `top` down."""

    kind: Kind
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """How much happened in a stretch; `here` if that is what is looked at."""

    span: Span
    count: int
    pieces: tuple[Piece, ...]
    here: bool


def span_of(year: str, month: str, day: str) -> Span:
    """The smallest of what is asked for."""
    for unit, text, form in (("day", day, "{}"), ("month", month, "{}-01"), ("year", year, "{}-01-01")):
        if text:
            try:
                return _around(date.fromisoformat(form.format(text.zfill(4))), unit)
            except ValueError:
                raise InvalidInput(f"{unit} is {text[:40]!r}.", _HINT) from None
    return Span("ever")


def bars_of(counted: PerDay, span: Span) -> tuple[Bar, ...]:
    """A bar for each part of a span, those without anything too."""
    if not counted:
        return ()
    unit = {"ever": "month", "year": "month"}.get(span.around.unit, "day")
    first, last = min(counted), max(counted)
    if span.first is not None:
        first, last = day_of(span.bars_from_ms), day_of(span.bars_to_ms - 1)
    elif (last.year - first.year) * 12 + last.month - first.month > MONTHS:
        unit = "year"
    sums: dict[date, dict[Kind, int]] = {}
    for day, kinds in counted.items():
        of_start = sums.setdefault(_first(day, unit), {})
        for kind, count in kinds.items():
            of_start[kind] = of_start.get(kind, 0) + count
    most = max(sum(kinds.values()) for kinds in sums.values())
    return tuple(_bar(Span(unit, start), sums.get(start, {}), most, span) for start in _starts(first, last, unit))


def width_of(bars: Sequence[Bar]) -> int:
    """How wide each of them is: wide enough to be hit, wider if there are few."""
    return min(64, max(28, 900 // max(1, len(bars))))


def _bar(span: Span, kinds: Mapping[Kind, int], most: int, looked_at: Span) -> Bar:
    pieces: list[Piece] = []
    top = float(HEIGHT)
    for kind in KINDS:
        if kinds.get(kind):
            height = round(kinds[kind] / most * HEIGHT, 1)
            top = round(top - height, 1)
            pieces.append(Piece(kind, top, height))
    return Bar(span, sum(kinds.values()), tuple(pieces), span == looked_at)


def _starts(first: date, last: date, unit: str) -> Iterator[date]:
    span: Span | None = _around(first, unit)
    while span is not None and span.first is not None and span.first <= last:
        yield span.first
        span = span.after


def _around(day: date, unit: str) -> Span:
    """The year, month or day that a day is in."""
    return Span(unit, _first(day, unit))


def _first(day: date, unit: str) -> date:
    if unit == "year":
        return day.replace(month=1, day=1)
    return day.replace(day=1) if unit == "month" else day


def _after(first: date, unit: str) -> int:
    """The moment at which a stretch that begins so is over."""
    if unit == "day":
        return midnight(first) + DAY_MS
    beyond = midnight(first) + (366 if unit == "year" else 31) * DAY_MS
    return midnight(_first(day_of(beyond), unit)) if beyond <= LATEST_MS else LATEST_MS + 1
