"""An address that is none of ours, as whoever typed it gets to see it: a page, and not what a program is told."""

from __future__ import annotations

from typing import NoReturn

from commonplace.errors import NotFound
from commonplace.memory.book import Book
from commonplace.web.page import Asked, Page

# What begins so is for programs, even if a browser asks.
_PROGRAMS = ("/api", "/mcp", "/.well-known", "/health", "/live", "/ready", "/metrics")


def is_typed(path: str, accept: str) -> bool:
    """Whether a path that is no page was asked for by a person."""
    return "text/html" in accept and not any(path == door or path.startswith(f"{door}/") for door in _PROGRAMS)


def _lost(_book: Book, _asked: Asked) -> NoReturn:
    raise NotFound("There is no page at this address.", "Look for it from the first page.")


LOST = Page("GET", "/{anywhere}", "read", _lost, "")
