"""Browse: what is there, newest first, page by page; and the projects it belongs to."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.model import Item, Project, Scope

MAX_PAGE = 1000

_POSITION = re.compile(r"(-?[0-9]{1,15}):([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Page:
    """Some items, and where the next page begins."""

    items: tuple[Item, ...]
    next_cursor: str | None


def browse(book: Book, scope: Scope, limit: int = 20, cursor: str | None = None) -> Page:
    """Live items inside the scope, newest first."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput(f"limit is {limit}.", f"Choose 1 to {MAX_PAGE}.")
    items = book.store.newest(scope, limit + 1, position_of(cursor) if cursor else None)
    page, more = items[:limit], len(items) > limit
    return Page(tuple(page), cursor_at(page[-1].created_ms, page[-1].id) if more else None)


def projects(book: Book) -> list[Project]:
    """Every project, the one used last first."""
    return book.store.projects()


def add_alias(book: Book, project: str, alias: str) -> str:
    """Let a project answer to another name as well; returns its canonical name."""
    book.store.alias_project(project, alias)
    return book.store.find_project(alias) or project


def cursor_at(ms: int, id_: int) -> str:
    """Where a page ended, in a form to be given back unchanged."""
    return base64.urlsafe_b64encode(f"{ms}:{id_}".encode()).decode().rstrip("=")


def position_of(cursor: str) -> tuple[int, int]:
    """The time and the id that a cursor means."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (ValueError, binascii.Error):
        text = ""
    position = _POSITION.fullmatch(text)
    if not position:
        raise InvalidInput("The cursor is not one of ours.", "Take it unchanged from the previous page.")
    return int(position[1]), int(position[2])
