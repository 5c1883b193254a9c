"""Home: what was remembered lately, where, and whether everything works."""

from __future__ import annotations

from commonplace.memory.book import Book
from commonplace.memory.browse import browse, projects
from commonplace.memory.status import status
from commonplace.model import Scope
from commonplace.web.page import Asked, Shown

NEWEST = 12
PROJECTS = 12


def home(book: Book, _asked: Asked) -> Shown:
    """The first page."""
    newest = browse(book, Scope(), NEWEST)
    return Shown("home", {"newest": newest.items, "projects": projects(book)[:PROJECTS], "status": status(book)})
