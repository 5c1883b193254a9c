"""Items: get them by id, and list them page by page."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.as_of import newest_as_of
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import ID_HINT, MEMORY_TYPES, Change, Item, Scope, ref


@dataclass(frozen=True, slots=True)
class FetchedItems:
    """What was found, in the order asked, and the ids that nothing answers to."""

    items: tuple[Item, ...]
    missing: tuple[int | str, ...]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def get_items(memory: LocalMemory, ids: Sequence[int | str], *, forgotten: bool = False) -> FetchedItems:
    """Items by id; forgotten ones count as missing unless asked for. An id given twice is answered once."""
    wanted = list(dict.fromkeys(ids))
    numbers = memory.store.resolve([ref(value) for value in wanted])
    known = memory.store.get([number for number in numbers if number is not None])
    items: dict[int, Item] = {}
    missing: list[int | str] = []
    for value, number in zip(wanted, numbers, strict=True):
        item = known.get(number) if number is not None else None
        if item is None or (item.forgotten_ms is not None and not forgotten):
            missing.append(value)
        else:
            items.setdefault(item.id, item)
    return FetchedItems(tuple(items.values()), tuple(missing))


def get_item(memory: LocalMemory, id_: int | str, *, forgotten: bool = False) -> Item:
    """One item, or NotFound."""
    for item in get_items(memory, [id_], forgotten=True).items:
        if item.forgotten_ms is None or forgotten:
            return item
        raise NotFound(_unknown(id_), f"It was forgotten; `commonplace restore {item.id}` brings it back.")
    raise NotFound(_unknown(id_), ID_HINT)


def _unknown(id_: int | str) -> str:
    return f"There is no item {id_[:60]!r}." if isinstance(id_, str) else f"There is no item {id_}."


def item_history(memory: LocalMemory, id_: int | str) -> list[Change]:
    """What an item was before each change, oldest first."""
    return memory.store.history(get_item(memory, id_, forgotten=True).id)


MAX_PAGE = 1000

_POSITION = re.compile(r"(-?[0-9]{1,15}):([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Some items, and where the next page begins."""

    items: tuple[Item, ...]
    next_cursor: str | None

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def browse_items(memory: LocalMemory, scope: Scope, limit: int = 20, cursor: str | None = None) -> ItemPage:
    """Live items inside the scope, newest first; of a scope at a moment, what was held true then."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInput(f"limit is {limit}.", f"Choose 1 to {MAX_PAGE}.")
    items = newest_items(memory, scope, limit + 1, parse_cursor(cursor) if cursor else None)
    page, more = items[:limit], len(items) > limit
    return ItemPage(tuple(page), make_cursor(page[-1].created_ms, page[-1].id) if more else None)


def newest_items(memory: LocalMemory, scope: Scope, limit: int, before: tuple[int, int] | None = None) -> list[Item]:
    """Live items, newest first, or those of a moment; `before` is the (created_ms, id) to go on from."""
    if scope.at_ms is None:
        return memory.store.newest(scope, limit, before)
    return newest_as_of(memory, scope, limit, before)


def require_types(memory: LocalMemory, types: Iterable[str]) -> None:
    """Raise NotFound if a type was named that no item has and that is none of the usual ones."""
    for type_ in types:
        if type_ in MEMORY_TYPES or memory.store.newest(Scope(types=(type_,), lapsed=True), 1):
            continue
        from difflib import get_close_matches

        close = get_close_matches(type_.casefold(), MEMORY_TYPES, 1)
        hint = f"Did you mean {close[0]!r}?" if close else f"The usual types are {', '.join(MEMORY_TYPES)}."
        raise NotFound(f"Nothing has the type {type_!r}.", hint)


def make_cursor(ms: int, id_: int) -> str:
    """Where a page ended, in a form to be given back unchanged."""
    return base64.urlsafe_b64encode(f"{ms}:{id_}".encode()).decode().rstrip("=")


def parse_cursor(cursor: str) -> tuple[int, int]:
    """The time and the id that a cursor means."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (ValueError, binascii.Error):
        text = ""
    position = _POSITION.fullmatch(text)
    if not position:
        raise InvalidInput("The cursor is not one of ours.", "Take it unchanged from the previous page.")
    return int(position[1]), int(position[2])


OFF_PATH = "off_path"
"""The metadata key of a message that its conversation went on without: an abandoned branch, or another answer."""
ROOT_KEY = "root"
"""The metadata key for the folder that an item's relative paths start from."""
