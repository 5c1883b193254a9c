"""Fetch: full records by any spelling of their ids, in the order asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.errors import NotFound
from commonplace.identity import HINT, ref
from commonplace.memory.book import Book
from commonplace.model import Change, Item


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was found, in the order asked, and the ids that nothing answers to."""

    items: tuple[Item, ...]
    missing: tuple[int | str, ...]


def fetch(book: Book, ids: Sequence[int | str], *, forgotten: bool = False) -> Fetched:
    """Items by id; forgotten ones count as missing unless asked for. An id given twice is answered once."""
    wanted = list(dict.fromkeys(ids))
    numbers = book.store.resolve([ref(value) for value in wanted])
    known = book.store.get([number for number in numbers if number is not None])
    items: dict[int, Item] = {}
    missing: list[int | str] = []
    for value, number in zip(wanted, numbers, strict=True):
        item = known.get(number) if number is not None else None
        if item is None or (item.forgotten_ms is not None and not forgotten):
            missing.append(value)
        else:
            items.setdefault(item.id, item)
    return Fetched(tuple(items.values()), tuple(missing))


def fetch_one(book: Book, id_: int | str, *, forgotten: bool = False) -> Item:
    """One item, or NotFound."""
    for item in fetch(book, [id_], forgotten=True).items:
        if item.forgotten_ms is None or forgotten:
            return item
        raise NotFound(_unknown(id_), f"It was forgotten; `commonplace restore {item.id}` brings it back.")
    raise NotFound(_unknown(id_), HINT)


def _unknown(id_: int | str) -> str:
    return f"There is no item {id_[:60]!r}." if isinstance(id_, str) else f"There is no item {id_}."


def history(book: Book, id_: int | str) -> list[Change]:
    """What an item was before each change, oldest first."""
    return book.store.history(fetch_one(book, id_, forgotten=True).id)
