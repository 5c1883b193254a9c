"""Which tables hold somebody's words, and how their rows are cleaned: alike on every engine, but for items."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.store.damage import DamagedRow, Reader, parsed
from commonplace.store.maintenance import RowKey, TextRow

ITEMS = "items"


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table: what tells its rows apart, and its texts; `name` is the one of them that no two rows may share.

    `lossy`: a row that would change goes instead.
    """

    table: str
    keys: tuple[str, ...]
    texts: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    name: str | None = None
    lossy: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return *self.texts, *self.json


TEXT_TABLES: dict[str, TextTable] = {
    "history": TextTable("history", ("id",), json=("before",)),
    "sessions": TextTable("sessions", ("id",), ("key", "source", "label", "folder"), ("meta",), name="key"),
    "history of sessions": TextTable("session_history", ("id",), json=("before",)),
    "streams": TextTable("streams", ("id",), ("type",), ("tags", "meta")),
    "chunks": TextTable("stream_parts", ("stream_id", "seq"), ("text",)),
    "projects": TextTable("projects", ("id",), ("name",), name="name"),
    "names of projects": TextTable("project_aliases", ("alias",), ("alias",), lossy=True),
    "topics": TextTable("clusters", ("id",), ("label",)),
    "answers": TextTable("replies", ("caller", "name"), ("name", "headers", "body"), lossy=True),
    "sources": TextTable("sources", ("path",), ("path",), ("mark",), lossy=True),
    "jobs": TextTable("jobs", ("id",), ("error",)),
    "keys": TextTable("keys", ("id",), ("name",)),
}


# What people and agents wrote, besides items; the rest is derived, or can be had again.
AUTHORED = ("history", "sessions", "history of sessions", "streams", "chunks", "projects", "names of projects", "keys")


def damaged_row(part: str, row: Sequence[Any]) -> DamagedRow | None:
    """The columns of a row, its keys first, that cannot be read as they should be."""
    keys = len(TEXT_TABLES[part].keys)
    values = dict(zip(TEXT_TABLES[part].columns, row[keys:], strict=True))
    read = Reader()
    for name in TEXT_TABLES[part].texts:
        read.text(name, values[name])
    for name in TEXT_TABLES[part].json:
        (read.json_list if name == "tags" else read.json_object)(name, values[name])
    number = " ".join(map(str, row[:keys]))
    return DamagedRow(f"{part} {number}", tuple(read.damaged)) if read.damaged else None


def text_row(part: str, row: Sequence[Any]) -> TextRow:
    """A row of a part: its keys, then its columns."""
    keys = len(TEXT_TABLES[part].keys)
    mark = tuple(row[:keys])
    number = " ".join(map(str, mark)) if all(isinstance(key, int) for key in mark) else ""
    return TextRow(mark, f"{part} {number}".strip(), tuple(texts_in(_values(TEXT_TABLES[part], row[keys:]))))


def cleaned_columns(
    part: TextTable, mark: RowKey, row: Sequence[Any], clean: Callable[[str], str], is_taken: Callable[[str], bool]
) -> list[Any] | None:
    """The columns of a row after cleaning, None if nothing changes. A name that another row has gets a number."""
    before = _values(part, row)
    after = [_cleaned(value, clean) for value in before]
    if after == before:
        return None
    plain = len(part.texts)
    texts, objects = after[:plain], after[plain:]
    if part.name is not None:
        at = part.texts.index(part.name)
        if texts[at] != before[at] and is_taken(texts[at]):
            texts[at] = f"{texts[at]} {mark[0]}"
    return [*texts, *(json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in objects)]


def texts_in(value: object) -> Iterator[str]:
    """Every text in a value, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from (str(name), *texts_in(entry))
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from texts_in(entry)


def _values(part: TextTable, row: Sequence[Any]) -> list[Any]:
    """The texts of a row, and its JSON as what it says."""
    plain = len(part.texts)
    texts = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in row[:plain])
    return [*texts, *(_json_value(text) for text in row[plain:])]


def _json_value(text: Any) -> Any:
    """What JSON says; where it is damaged, its text as it is, so that it can be cleaned too."""
    found = parsed(text)
    return found if found is not None or text == "null" else str(text)


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(entry, clean) for name, entry in value.items()}
    return [_cleaned(entry, clean) for entry in value] if isinstance(value, list) else value
