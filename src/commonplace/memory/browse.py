"""Browse: what is there, newest first, page by page; and the projects it belongs to."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.model import MEMORY_TYPES, Item, Project, Scope
from commonplace.text.names import base_name

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


def require_project(book: Book, name: str | None) -> None:
    """Raise NotFound if a project was named that is not there, with the name that is nearest."""
    if name is None or book.store.find_project(name) is not None:
        return
    known = {base_name(project.name): project.name for project in projects(book)}
    close = get_close_matches(base_name(name).casefold(), [one.casefold() for one in known], 1)
    near = next((one for one in known if close and one.casefold() == close[0]), "")
    hint = f"Did you mean {near!r}?" if near else "`commonplace projects` lists those that are known."
    raise NotFound(f"There is no project {name!r}.", hint)


def require_types(book: Book, types: Iterable[str]) -> None:
    """Raise NotFound if a type was named that no item has and that is none of the usual ones."""
    for type_ in types:
        if type_ in MEMORY_TYPES or book.store.newest(Scope(types=(type_,)), 1):
            continue
        close = get_close_matches(type_.casefold(), MEMORY_TYPES, 1)
        hint = f"Did you mean {close[0]!r}?" if close else f"The usual types are {', '.join(MEMORY_TYPES)}."
        raise NotFound(f"Nothing has the type {type_!r}.", hint)


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
