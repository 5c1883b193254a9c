"""Home, where every project stands; the page of each project: what is open, decided and to settle."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from commonplace.errors import InvalidInput
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.open_steps import STILL_FAILING, close_step, failing_command, failure_reason, reopen_step
from commonplace.memory.profile import ProfileLine, build_profile
from commonplace.memory.project_overview import (
    ACTIVITY_DAYS,
    CARD_DAYS,
    CARDS,
    DECISIONS,
    WEEK_MS,
    Decision,
    ProjectOverview,
    project_briefs,
    project_overview,
)
from commonplace.memory.projects import list_projects
from commonplace.memory.report import OpenEnd
from commonplace.memory.status_and_stats import items_per_day, status
from commonplace.model import Scope
from commonplace.text.dates import clamp_time, day_start_ms, utc_day
from commonplace.web.page_handler import PageReply, PageRequest, Redirect, Rendered, local_path

BAR_HEIGHT = 36
# Rules of the project and of everywhere that are shown; the others are on their own page.
RULES, GLOBAL_RULES = 8, 4
# Decisions from before last week.
EARLIER = 6
# Notes at the revisions that they had before a step was closed.
_CLOSED = re.compile(r"([0-9a-f]{12}|[0-9]{1,18})\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class ActivityBar:
    """One day of a small bar chart."""

    day: date
    count: int
    height: int


@dataclass(frozen=True, slots=True)
class OpenLine:
    """Something open as it is shown: of a failing command, the command and why. Only what notes say can be closed."""

    end: OpenEnd
    text: str
    command: str = ""
    can_close: bool = True


def project_page(memory: LocalMemory, request: PageRequest) -> PageReply:
    """The home of one project."""
    if not request.path["name"].strip("/ "):
        return Redirect("/projects")
    return _page(memory, request, project_overview(memory, request.path["name"]))


def no_project_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The same for what belongs to no project."""
    return _page(memory, request, project_overview(memory, None))


def all_projects_page(memory: LocalMemory, _request: PageRequest) -> Rendered:
    """Every project, the one used last first."""
    return Rendered("projects", {"projects": list_projects(memory)})


def close_open_step(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Mark a step as done."""
    notes = close_step(memory, request.given("project").strip() or None, request.given("step"))
    closed = ",".join(f"{item.short_id}.{item.rev}" for item in notes)
    return Redirect(local_path(request.given("back")), "step_done", closed)


def reopen_closed_step(memory: LocalMemory, request: PageRequest) -> Redirect:
    """Undo that."""
    notes = [(id_, int(rev)) for id_, rev in _CLOSED.findall(request.given("closed"))]
    if not notes:
        raise InvalidInput("The request does not say which step to reopen.", "Go back to the project page.")
    reopen_step(memory, notes)
    return Redirect(local_path(request.given("back")), "step_open")


def _page(memory: LocalMemory, request: PageRequest, found: ProjectOverview) -> Rendered:
    today = utc_day(memory.clock())
    values = {
        "overview": found,
        "project_shown": found.project,
        "open_lines": [_open_line(end) for end in found.open_ends],
        "decided": decisions_by_week(decided_or_rejected(found), today),
        "bars": activity_bars(found.activity, utc_day(clamp_time(found.to_ms - 1)), ACTIVITY_DAYS),
        "bar_height": BAR_HEIGHT,
        "is_quiet": found.last_ms is not None and found.last_ms < memory.clock() - WEEK_MS,
        "project_rules": found.rules.project[::-1][:RULES],
        "global_rules": found.rules.everywhere[::-1][:GLOBAL_RULES],
        "more_rules": max(0, len(found.rules.project) - RULES) + max(0, len(found.rules.everywhere) - GLOBAL_RULES),
        "may_change": request.may("write"),
    }
    return Rendered("project", values)


def _open_line(end: OpenEnd) -> OpenLine:
    if end.text.startswith(STILL_FAILING):
        return OpenLine(end, failure_reason(end.text), failing_command(end.text))
    if end.what == "failing":
        command, _, why = end.text.partition(": ")
        return OpenLine(end, why, command, can_close=False)
    return OpenLine(end, end.text)


def decided_or_rejected(found: ProjectOverview) -> list[Decision]:
    """Decisions and rejected ideas, which have a mark, in one list, the newest first."""
    both = [*found.decisions, *found.rejected]
    return sorted(both, key=lambda one: (one.item.created_ms, one.item.id), reverse=True)[:DECISIONS]


def decisions_by_week(decisions: Sequence[Decision], today: date) -> list[tuple[str, list[Decision]]]:
    """Decisions under "this_week", "last_week" and "earlier", by calendar weeks, which begin on Monday."""
    monday = today - timedelta(days=today.weekday())

    def week_of(one: Decision) -> str:
        day = utc_day(clamp_time(one.item.created_ms))
        if day >= monday:
            return "this_week"
        return "last_week" if day >= monday - timedelta(weeks=1) else "earlier"

    weeks = [(week, list(some)) for week, some in groupby(decisions, key=week_of)]
    return [(week, some[:EARLIER] if week == "earlier" else some) for week, some in weeks]


def activity_bars(counts: Mapping[date, int], last: date, days: int, height: int = BAR_HEIGHT) -> list[ActivityBar]:
    """A bar for each day up to the last, by the square root of its count, so that a quiet day is still seen."""
    fullest = max(counts.values(), default=0)
    found = []
    for back in reversed(range(days)):
        day = last - timedelta(days=back)
        count = counts.get(day, 0)
        found.append(ActivityBar(day, count, max(3, round(height * (count / fullest) ** 0.5)) if count else 1))
    return found


WEEKS = 53
# Shades of a day, by its share of the fullest day; 0 is empty.
SHADES = 4
CELL = 14


@dataclass(frozen=True, slots=True)
class Day:
    """One square of the calendar: its position, count and shade."""

    date: date
    count: int
    shade: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Calendar:
    """The squares from the first Monday to today, and where months begin."""

    days: tuple[Day, ...]
    months: tuple[tuple[int, date], ...]
    total: int
    width: int
    height: int = 8 * CELL + 4


def first_day(today: date) -> date:
    """The Monday on which the calendar begins."""
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def activity_calendar(counts: Mapping[date, int], today: date) -> Calendar:
    """A year of activity up to today, a column for each week."""
    first = first_day(today)
    fullest = max(counts.values(), default=0)
    squares = []
    months: list[tuple[int, date]] = []
    for number in range((today - first).days + 1):
        day = first + timedelta(days=number)
        count = counts.get(day, 0)
        x, y = (number // 7) * CELL, 18 + (number % 7) * CELL
        squares.append(Day(day, count, _shade(count, fullest), x, y))
        # A month is named over the week in which it begins, if there is room.
        if day.day == 1 and (not months or x - months[-1][0] >= 2 * CELL):
            months.append((x, day))
    return Calendar(tuple(squares), tuple(months), sum(day.count for day in squares), WEEKS * CELL)


def _shade(count: int, fullest: int) -> int:
    """By the square root of its share, so that half of the fullest day is dark already."""
    return 0 if not count else 1 + min(SHADES - 1, int(SHADES * (count / fullest) ** 0.5 - 0.001))


CARD_BAR_HEIGHT = 22
PROFILE_LINES = 5


def _own_preferences(memory: LocalMemory) -> list[ProfileLine]:
    """What the reader prefers: what others say is theirs."""
    own = (line for line in build_profile(memory).lines if line.group == "preferences" and not line.by)
    return list(own)[:PROFILE_LINES]


def home_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The home page."""
    today = datetime.fromtimestamp(memory.clock() / 1000, UTC).date()
    counts = items_per_day(memory, Scope(), day_start_ms(first_day(today)))
    per_day = {day: sum(kinds.values()) for day, kinds in counts.items()}
    briefs = project_briefs(memory)
    # Facts that hold everywhere need no card; work outside any project has one.
    outside = next((one for one in briefs if one.project is None and not (one.session or one.decision)), None)
    values = {
        "outside": outside,
        "briefs": [
            (brief, activity_bars(brief.activity, today, CARD_DAYS, CARD_BAR_HEIGHT))
            for brief in briefs
            if brief != outside
        ],
        "bar_height": CARD_BAR_HEIGHT,
        "cards": CARDS,
        "status": status(memory),
        "profile": _own_preferences(memory),
        "today": counts.get(today, {}),
        "calendar": activity_calendar(per_day, today),
        "address": f"http://{request.headers.get('host', '127.0.0.1')}",
    }
    return Rendered("home", values)
