"""Reading: a session page by page with everything that happened in it, words in it, and the sessions around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.errors import NotFound
from commonplace.memory.book import Book
from commonplace.memory.browse import cursor_at, position_of
from commonplace.memory.conversations import find
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import EARLIEST_MS, LATEST_MS
from commonplace.model import Item, Kind, Scope, Session, SessionScope
from commonplace.store.columns import QUERY_COLUMNS
from commonplace.text.query import parse

PAGE = 40
# Characters that a page is cut after: nobody waits for more, and a single item may have a million.
MOST_TEXT = 80_000
# So many items before the one that somebody wants to read.
LEAD = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """Some items of a session, oldest first, and where those before and after them are."""

    items: tuple[Item, ...]
    earlier: str | None
    later: str | None


@dataclass(frozen=True, slots=True)
class Around:
    """The sessions that one hangs together with: what it goes on from, who started it, and what came of it."""

    before: Session | None
    parent: Session | None
    after: tuple[Session, ...]
    agents: tuple[Session, ...]


def read(
    book: Book,
    session: Session,
    *,
    after: str = "",
    before: str = "",
    at: int | str = "",
    last: bool = False,
    limit: int = PAGE,
) -> Reading:
    """A page of a session: its first, its last, the one after or before a cursor, or the one around an item."""
    if at:
        found = _from(book, session, fetch_one(book, at), limit)
    elif before or last:
        found = _ordered(book, session, limit, position_of(before) if before else None, oldest_first=False)
        found = _fitting(found)[::-1]
    else:
        found = _ordered(book, session, limit, position_of(after) if after else None, oldest_first=True)
    page = _fitting(found)
    if not page:
        return Reading((), None, None)
    first, final = _place(page[0]), _place(page[-1])
    return Reading(
        tuple(page),
        cursor_at(*first) if _ordered(book, session, 1, first, oldest_first=False) else None,
        cursor_at(*final) if _ordered(book, session, 1, final, oldest_first=True) else None,
    )


def noted(book: Book, session: Session) -> None:
    """Remember that a session was read; nothing else changes."""
    book.store.touch_session(session.id, book.clock())


def find_in(book: Book, session: Session, question: str, limit: int = 100) -> list[Item]:
    """The items of a session that hold some words, oldest first: all of them, also where they say the same."""
    query = parse(question, QUERY_COLUMNS)
    hits = book.store.search_text(query, _inside(session), limit, shares=False).hits
    return sorted(book.store.get(hit.item_id for hit in hits).values(), key=_place)


def around(book: Book, session: Session) -> Around:
    """The sessions that a session hangs together with, as far as they are there."""
    came = book.store.sessions_from(session.id)
    after = tuple(one for one in came if one.meta.get("continued_from") == session.key)
    return Around(
        _named(book, session.meta.get("continued_from")),
        _named(book, session.meta.get("parent_session")),
        after,
        tuple(one for one in came if one not in after),
    )


def what_is_in(book: Book, sessions: Sequence[Session]) -> dict[int, dict[Kind, int]]:
    """How many items of each kind there are in sessions, by their ids."""
    return book.store.kinds_in([session.id for session in sessions])


def _ordered(
    book: Book, session: Session, limit: int, beyond: tuple[int, int] | None, *, oldest_first: bool
) -> list[Item]:
    return book.store.items_between(
        _inside(session), EARLIEST_MS, LATEST_MS + 1, limit, beyond, oldest_first=oldest_first
    )


def _from(book: Book, session: Session, item: Item, limit: int) -> list[Item]:
    """An item and what comes after it, and a little of what was before if there is room for that."""
    lead = _ordered(book, session, LEAD, _place(item), oldest_first=False)
    at_ms, id_ = _place(item)
    found = _ordered(book, session, limit, (at_ms, id_ - 1), oldest_first=True)
    whole = [*reversed(lead), *found][:limit]
    return whole if item in _fitting(whole) else found


def _inside(session: Session) -> Scope:
    return Scope(sessions=SessionScope(ids=(session.id,), empty=True))


def _fitting(items: list[Item]) -> list[Item]:
    """As many of the first as a page has room for, at least one."""
    room = MOST_TEXT
    for number, item in enumerate(items):
        room -= len(item.body)
        if room < 0 and number:
            return items[:number]
    return items


def _named(book: Book, key: object) -> Session | None:
    if not isinstance(key, str):
        return None
    try:
        return find(book, key)
    except NotFound:
        return None


def _place(item: Item) -> tuple[int, int]:
    return item.created_ms, item.id
