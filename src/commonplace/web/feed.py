"""Live: what is being remembered while one looks on, whoever does it, and the sessions that go on."""

from __future__ import annotations

from commonplace.memory.book import Book
from commonplace.memory.browse import browse, projects
from commonplace.memory.sittings import going_on
from commonplace.model import KINDS, Scope
from commonplace.web.page import Asked, Shown

NEWEST = 40
SESSIONS = 12


def feed(book: Book, asked: Asked) -> Shown:
    """What came last; the page itself follows on from there."""
    project = asked.one("project") or None
    scope = Scope(project=project)
    values = {
        "newest": browse(book, scope, NEWEST).items,
        "sessions": going_on(book, scope, SESSIONS),
        "projects": [known.name for known in projects(book)],
        "project": project or "",
        "kinds": KINDS,
    }
    return Shown("feed", values)
