"""Home: where every project stands, a year of activity and the state of the memory; and the live feed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from commonplace.memory.items import browse_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.profile import build_profile
from commonplace.memory.project_overview import CARD_DAYS, CARDS, project_briefs
from commonplace.memory.review import count_proposals
from commonplace.memory.sessions import active_sessions
from commonplace.memory.stats import day_start_ms, items_per_day
from commonplace.memory.status import status
from commonplace.model import KINDS, Scope
from commonplace.web.page import PageRequest, Rendered, project_names
from commonplace.web.projects import activity_bars

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


BAR_HEIGHT = 22
PROFILE_LINES = 5


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
            (brief, activity_bars(brief.activity, today, CARD_DAYS, BAR_HEIGHT)) for brief in briefs if brief != outside
        ],
        "bar_height": BAR_HEIGHT,
        "cards": CARDS,
        "proposals": count_proposals(memory),
        "status": status(memory),
        "profile": build_profile(memory).lines[:PROFILE_LINES],
        "today": counts.get(today, {}),
        "calendar": activity_calendar(per_day, today),
        "address": f"http://{request.headers.get('host', '127.0.0.1')}",
    }
    return Rendered("home", values)


FEED_ITEMS = 40
FEED_SESSIONS = 12


def feed_page(memory: LocalMemory, request: PageRequest) -> Rendered:
    """The newest items; the page follows new ones by itself."""
    project = request.one("project") or None
    scope = Scope(project=project)
    values = {
        "newest": browse_items(memory, scope, FEED_ITEMS).items,
        "sessions": active_sessions(memory, scope, FEED_SESSIONS),
        "projects": project_names(memory),
        "project": project or "",
        "kinds": KINDS,
    }
    return Rendered("feed", values)
