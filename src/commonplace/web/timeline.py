"""The timeline: sessions day by day, or every entry; of all time, a year, a month or a day, with bars to zoom.

Also one session, and what happened around one item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Any

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import find_session
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.sessions import read_session
from commonplace.memory.status_and_stats import ItemsPerDay, items_per_day
from commonplace.memory.timeline import DayOfWork, DaySession, days_of_work, items_in_period, sessions_by_item, timeline
from commonplace.model import KINDS, Item, Kind, Scope, Session
from commonplace.text.dates import DAY_MS, EARLIEST_MS, LATEST_MS, MINUTE_MS, day_start_ms, utc_day
from commonplace.text.sentences import shorten
from commonplace.web.page_handler import PageRequest, Redirect, Rendered, project_names, with_query

# Beyond this many months the bars are years; up to this many days they are days.
MONTHS, FEW_DAYS = 30, 62
HEIGHT = 72
_HINT = "Write a year as 2025, a month as 2025-03, a day as 2025-03-15."


@dataclass(frozen=True, slots=True)
class Span:
    """Everything, or the year, month or day that starts at `first`; its bars are of the next smaller unit."""

    unit: str
    first: date | None = None

    @property
    def from_ms(self) -> int:
        return EARLIEST_MS if self.first is None else day_start_ms(self.first)

    @property
    def to_ms(self) -> int:
        return LATEST_MS + 1 if self.first is None else _after(self.first, self.unit)

    @property
    def around(self) -> Span:
        """The span of its bars: a day is shown among those of its month."""
        return self.up if self.unit == "day" else self

    @property
    def up(self) -> Span:
        """The next larger span that contains it."""
        if self.first is None or self.unit == "year":
            return Span("ever")
        return _span_around(self.first, "month" if self.unit == "day" else "year")

    @property
    def way(self) -> tuple[Span, ...]:
        """The spans from everything down to this one."""
        return (self,) if self.first is None else (*self.up.way, self)

    @property
    def name(self) -> str:
        return "" if self.first is None else self.first.isoformat()[: {"year": 4, "month": 7}.get(self.unit, 10)]

    @property
    def query_params(self) -> Mapping[str, str]:
        """Its parameters in a URL."""
        return {} if self.first is None else {self.unit: self.name}

    def holds(self, day: date) -> bool:
        return self.from_ms <= day_start_ms(day) < self.to_ms

    @property
    def before(self) -> Span | None:
        """The previous span of the same unit."""
        if self.first is None or self.first == date.min:
            return None
        return _span_around(self.first - timedelta(days=1), self.unit)

    @property
    def after(self) -> Span | None:
        return None if self.to_ms > LATEST_MS else _span_around(utc_day(self.to_ms), self.unit)


@dataclass(frozen=True, slots=True)
class Piece:
    """The share of one kind in a bar, from `top` down."""

    kind: Kind
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """How much happened in a span; `here` if it is the shown one."""

    span: Span
    count: int
    pieces: tuple[Piece, ...]
    here: bool


def span_of(year: str, month: str, day: str) -> Span:
    """The smallest span that is given."""
    for unit, text, form in (("day", day, "{}"), ("month", month, "{}-01"), ("year", year, "{}-01-01")):
        if text:
            try:
                return _span_around(date.fromisoformat(form.format(text.zfill(4))), unit)
            except ValueError:
                raise InvalidInput(f"{unit} is {text[:40]!r}.", _HINT) from None
    return Span("ever")


def bars_of(counted: ItemsPerDay, span: Span) -> tuple[Bar, ...]:
    """A bar for each part of a span, empty ones included."""
    if not counted:
        return ()
    unit = {"ever": "month", "year": "month"}.get(span.around.unit, "day")
    first, last = min(counted), max(counted)
    if span.first is not None:
        first, last = utc_day(span.around.from_ms), utc_day(span.around.to_ms - 1)
    elif (last - first).days < FEW_DAYS:
        unit = "day"
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
    """The width of each bar: wide enough to click, wider if there are few."""
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
    span: Span | None = _span_around(first, unit)
    while span is not None and span.first is not None and span.first <= last:
        yield span.first
        span = span.after


def _span_around(day: date, unit: str) -> Span:
    """The year, month or day that a day is in."""
    return Span(unit, _first(day, unit))


def _first(day: date, unit: str) -> date:
    if unit == "year":
        return day.replace(month=1, day=1)
    return day.replace(day=1) if unit == "month" else day


def _after(first: date, unit: str) -> int:
    """When the span that starts on this day ends."""
    if unit == "day":
        return day_start_ms(first) + DAY_MS
    beyond = day_start_ms(first) + (366 if unit == "year" else 31) * DAY_MS
    return day_start_ms(_first(utc_day(beyond), unit)) if beyond <= LATEST_MS else LATEST_MS + 1


PAGE_SIZE = 60
# Days of the river on a page, and colours that tell projects apart.
DAYS_SHOWN, HUES, FIRST_PAGE = 14, 8, "first"
# So many minutes of a day can still be seen as a block.
SHORTEST = 30
SESSION_PAGE = 100
NEIGHBOURS = 15
EXCERPT, FEW = 220, 60


@dataclass(frozen=True, slots=True)
class Line:
    """An item in short."""

    item: Item
    title: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class SessionBlock:
    """Consecutive items of one session, or of none."""

    session: Session | None
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the timeline; `quiet` is the number of days without items since the previous one."""

    day: date
    quiet: int
    blocks: tuple[SessionBlock, ...]


def timeline_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """What happened around an item, in a session, or in a span of time."""
    kinds = [kind for kind in KINDS if kind in request.many("kind")]
    entries = bool(kinds) or request.one("view") == "entries"
    chosen = {"project": request.one("project"), "kind": kinds, "view": "entries" if entries else ""}
    projects = project_names(memory)
    values: dict[str, Any] = {
        "chosen": chosen,
        "hues": {name: n % HUES for n, name in enumerate(sorted(projects))},
        "kinds": KINDS,
        "projects": projects,
        "address": lambda **more: _address(chosen, more),
        "anchor": None,
        "session": None,
        "span": span_of(request.one("year"), request.one("month"), request.one("day")),
        "bars": (),
        "river": None,
        "bar_height": HEIGHT,
        "newer": "",
        "older": "",
        # What comes in while it is open belongs to what it shows.
        "follows": not any(request.one(name) for name in ("around", "session", "newer", "older", "before")),
    }
    values["follows"] = values["follows"] and values["span"].holds(utc_day(memory.clock()))
    if around := request.one("around"):
        return Rendered("timeline", values | _around_item(memory, around))
    if session := request.one("session"):
        return Rendered("timeline", values | _session(memory, request, session))
    show = _entries if entries else _sessions
    return Rendered("timeline", values | show(memory, request, chosen, values["span"]))


def feed_moved(_memory: LocalMemory, request: PageRequest) -> Redirect:
    """The address that the page of live entries had."""
    return Redirect(with_query("/timeline", {"project": request.one("project")}))


def days_of(items: Sequence[Item], sessions: Mapping[int, Session]) -> list[Day]:
    """Items by day and session, in order."""
    days: list[Day] = []
    for day, of_day in groupby(items, key=lambda item: utc_day(item.created_ms)):
        blocks = [
            SessionBlock(sessions.get(some[0].id), tuple(map(line_of, some)))
            for some in (
                list(group) for _, group in groupby(of_day, key=lambda item: _session_id(sessions.get(item.id)))
            )
        ]
        quiet = abs((days[-1].day - day).days) - 1 if days else 0
        days.append(Day(day, quiet, tuple(blocks)))
    return days


def line_of(item: Item) -> Line:
    """A line of the timeline: the title, and the text if it says more than a few words beyond it."""
    whole = item.details.get("narrative") or item.body or " · ".join(filter(None, item.details.values()))
    title, text = item.title, shorten(whole, EXCERPT)
    known = _letters(text).startswith(_letters(title)) and len(text) < len(title) + FEW
    return Line(item, title or text, "" if known or not title else text)


@dataclass(frozen=True, slots=True)
class RiverDay:
    """A day of the river of sessions; `quiet` is the number of days without anything since the one shown before it."""

    work: DayOfWork
    quiet: int
    strip: tuple[StripBlock, ...]


@dataclass(frozen=True, slots=True)
class StripBlock:
    """A session on the strip of its day: where it starts, and its length, in minutes."""

    project: str | None
    start: int
    length: int


def choose_days(days: Sequence[date], before: str) -> tuple[list[date], str, str]:
    """The newest days of a page, those before a day if one is given, and where newer and older pages begin."""
    try:
        border = date.fromisoformat(before) if before else date.max
    except ValueError:
        raise InvalidInput(f"before is {before[:40]!r}.", _HINT) from None
    earlier = [day for day in days if day < border]
    shown = earlier[-DAYS_SHOWN:]
    later = days[len(earlier) :]
    older = shown[0].isoformat() if len(earlier) > len(shown) else ""
    beyond = later[DAYS_SHOWN:]
    newer = beyond[0].isoformat() if beyond else FIRST_PAGE if later else ""
    return shown[::-1], newer, older


def _sessions(memory: LocalMemory, request: PageRequest, chosen: Mapping[str, Any], span: Span) -> dict[str, Any]:
    """The river: sessions as blocks, day by day."""
    scope = Scope(project=chosen["project"] or None)
    counted = items_per_day(memory, scope, span.around.from_ms, span.around.to_ms)
    shown, newer, older = choose_days([day for day in sorted(counted) if span.holds(day)], request.one("before"))
    here = span.query_params
    work = days_of_work(memory, scope, shown)
    return {
        "river": [_river_day(one, work[n - 1].day if n else None) for n, one in enumerate(work)],
        "days": (),
        "bars": (bars := bars_of(counted, span)),
        "bar_width": width_of(bars),
        "newer": newer and _address(chosen, here if newer == FIRST_PAGE else {**here, "before": newer}),
        "older": older and _address(chosen, {**here, "before": older}),
        "total": _total(counted, span),
    }


def _river_day(work: DayOfWork, shown_before: date | None) -> RiverDay:
    start = day_start_ms(work.day)
    return RiverDay(
        work,
        0 if shown_before is None else (shown_before - work.day).days - 1,
        tuple(_strip_block(one, start) for one in work.sessions),
    )


def _strip_block(one: DaySession, day_ms: int) -> StripBlock:
    start = (one.start_ms - day_ms) // MINUTE_MS
    return StripBlock(one.session.project, start, max(SHORTEST, (one.end_ms - one.start_ms) // MINUTE_MS))


def _entries(memory: LocalMemory, request: PageRequest, chosen: Mapping[str, Any], span: Span) -> dict[str, Any]:
    scope = Scope(project=chosen["project"] or None, kinds=tuple(chosen["kind"]))
    newer, older = request.one("newer"), request.one("older")
    found = items_in_period(memory, scope, span.from_ms, span.to_ms, PAGE_SIZE, newer_than=newer, older_than=older)
    counted = items_per_day(memory, scope, span.around.from_ms, span.around.to_ms)
    here = span.query_params
    return {
        "days": days_of(found.items, found.sessions),
        "bars": (bars := bars_of(counted, span)),
        "bar_width": width_of(bars),
        "newer": found.newer and _address(chosen, {**here, "newer": found.newer}),
        "older": found.older and _address(chosen, {**here, "older": found.older}),
        "total": _total(counted, span),
    }


def _session(memory: LocalMemory, request: PageRequest, id_: str) -> dict[str, Any]:
    session = find_session(memory, id_)
    page = read_session(memory, session, after=request.one("newer"), before=request.one("older"), limit=SESSION_PAGE)
    here = {"session": session.short_id}
    return {
        "session": session,
        "days": days_of(page.items, {item.id: session for item in page.items}),
        # A session is read from top to bottom: later items are on the next page.
        "newer": page.earlier and _address({}, {**here, "older": page.earlier}),
        "older": page.later and _address({}, {**here, "newer": page.later}),
    }


def _around_item(memory: LocalMemory, id_: str) -> dict[str, Any]:
    moments = timeline(memory, id_, NEIGHBOURS, NEIGHBOURS, own_project=True)
    items = [moment.item for moment in moments]
    anchor = next(moment.item for moment in moments if moment.position == 0)
    first, last = items[0], items[-1]
    return {
        "anchor": anchor,
        "days": days_of(items, sessions_by_item(memory, items)),
        "newer": _address({}, {"around": first.short_id}) if first != anchor else "",
        "older": _address({}, {"around": last.short_id}) if last != anchor else "",
    }


def _total(counted: Mapping[date, Mapping[Kind, int]], span: Span) -> int:
    return sum(sum(kinds.values()) for day, kinds in counted.items() if span.holds(day))


def _address(chosen: Mapping[str, Any], more: Mapping[str, str]) -> str:
    return with_query("/timeline", {**chosen, **more})


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _session_id(session: Session | None) -> int:
    return 0 if session is None else session.id
