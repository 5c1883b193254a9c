"""Home: what was remembered today, a calendar of activity, projects, and whether everything works."""

from __future__ import annotations

from datetime import UTC, datetime

from commonplace.memory.activity import items_per_day, midnight
from commonplace.memory.book import Book
from commonplace.memory.browse import browse, projects
from commonplace.memory.status import status
from commonplace.model import Scope
from commonplace.web.calendar import calendar, first_day
from commonplace.web.page import Asked, Shown

NEWEST = 12
PROJECTS = 12


def home(book: Book, asked: Asked) -> Shown:
    """The first page."""
    today = datetime.fromtimestamp(book.clock() / 1000, UTC).date()
    counts = items_per_day(book, Scope(), midnight(first_day(today)))
    per_day = {day: sum(kinds.values()) for day, kinds in counts.items()}
    values = {
        "newest": browse(book, Scope(), NEWEST).items,
        "projects": projects(book)[:PROJECTS],
        "status": status(book),
        "today": counts.get(today, {}),
        "date": today,
        "calendar": calendar(per_day, today),
        "address": f"http://{asked.headers.get('host', '127.0.0.1')}",
    }
    return Shown("home", values)
