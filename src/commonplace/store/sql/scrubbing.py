"""Scrubbing: which tables hold texts, and cleaning their rows; items are more work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from commonplace.model import Draft, Item
from commonplace.store.damaged_values import DamagedRow, DamagedText, Reader, parsed
from commonplace.store.maintenance import RowKey, TextRow
from commonplace.store.records import separate_hash
from commonplace.store.sql import indexing, items
from commonplace.store.sql.connection import Connection, Space
from commonplace.store.sql.item_changes import (
    SAME,
    changeable,
    content_columns,
    count_items,
    is_live,
    location_of,
    update,
    write_tags,
)
from commonplace.store.sql.keys_and_spaces import unlimited

ITEMS = "items"


class TextTable(NamedTuple):
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


class Scrubbing(Space):
    """Cleaning one space."""

    def text_parts(self) -> Sequence[str]:
        return (ITEMS, *TEXT_TABLES)

    def text_rows(self, part: str, after: RowKey | None, limit: int) -> list[TextRow]:
        with self._database.read() as connection:
            if part == ITEMS:
                return _item_rows(connection, self._space_id, after, limit)
            rows = table_rows(connection, self._space_id, TEXT_TABLES[part], after, limit)
            return [text_row(part, row) for row in rows]

    def clean_text_rows(self, part: str, keys: Sequence[RowKey], clean: Callable[[str], str]) -> None:
        with self._database.write() as connection:
            for key in keys:
                _clean_row(connection, self._space_id, TEXT_TABLES[part], key, clean)

    def clean_items(self, keys: Sequence[RowKey], redraft: Callable[[Item], Draft]) -> None:
        with self._database.write() as connection, unlimited(connection, self._space_id):
            for item in items.get(connection, self._space_id, [key[0] for key in keys]).values():
                _clean_item(connection, self._space_id, item, redraft(item))


def table_rows(
    connection: Connection, space_id: int, table: TextTable, after: RowKey | None, limit: int
) -> list[tuple[Any, ...]]:
    """Rows of a table after a key: their keys, then their texts."""
    keys = ", ".join(table.keys)
    beyond = f"AND ({keys}) > ({_places(after)})" if after else ""
    return connection.rows(
        f"SELECT {', '.join((*table.keys, *table.columns))} FROM {table.table}"
        f" WHERE {_in_space(table)} {beyond} ORDER BY {keys} LIMIT {limit:d}",
        (space_id, *_bound(after or ())),
    )


def _item_rows(connection: Connection, space_id: int, after: RowKey | None, limit: int) -> list[TextRow]:
    select = "SELECT id FROM items WHERE +space_id = ? AND id > ? ORDER BY id LIMIT ?"
    ids = [row[0] for row in connection.rows(select, (space_id, after[0] if after else 0, limit))]
    found = items.get(connection, space_id, ids)
    return [
        TextRow(
            (id_,), f"item {id_}", tuple(texts_in([one.type, one.title, one.body, one.details, one.meta, one.tags]))
        )
        for id_, one in sorted(found.items())
    ]


def _in_space(table: TextTable) -> str:
    """The space is the first parameter. Chunks of streams have no column for it on SQLite."""
    if table.table == "stream_parts":
        return "/*pg space_id = ?1 AND */ stream_id IN (SELECT id FROM streams WHERE space_id = ?1)"
    return "space_id = ?1"


def _places(key: RowKey, first: int = 2) -> str:
    """The parameters of a key; damaged text is compared by its bytes."""
    return ", ".join(
        f"CAST(?{place} AS TEXT)" if isinstance(value, DamagedText) else f"?{place}"
        for place, value in enumerate(key, first)
    )


def _bound(key: RowKey) -> tuple[Any, ...]:
    return tuple(value.raw if isinstance(value, DamagedText) else value for value in key)


def _clean_row(
    connection: Connection, space_id: int, table: TextTable, key: RowKey, clean: Callable[[str], str]
) -> None:
    here = f"{_in_space(table)} AND ({', '.join(table.keys)}) = ({_places(key)})"
    bindings = (space_id, *_bound(key))
    row = connection.first(f"SELECT {', '.join(table.columns)} FROM {table.table} WHERE {here}", bindings)

    def is_taken(name: str) -> bool:
        select = f"SELECT count(*) FROM {table.table} WHERE space_id = ? AND {table.name} = ?"
        return bool(connection.value(select, (space_id, name)))

    cleaned = None if row is None else cleaned_columns(table, key, row, clean, is_taken)
    if cleaned is None:
        return
    if table.lossy:
        connection.run(f"DELETE FROM {table.table} WHERE {here}", bindings)
        return
    first = len(bindings) + 1
    columns = ", ".join(f"{column} = ?{place}" for place, column in enumerate(table.columns, first))
    connection.run(f"UPDATE {table.table} SET {columns} WHERE {here}", (*bindings, *cleaned))


def _clean_item(connection: Connection, space_id: int, item: Item, draft: Draft) -> None:
    item = changeable(connection, space_id, item.id)
    place = location_of(connection, space_id, item.id)
    same = (space_id, place.project_id or 0, draft.content_hash)
    content_hash = draft.content_hash
    if connection.first(f"SELECT 1 FROM items WHERE {SAME} AND id <> ?", (*same, item.id)):
        # Cleaning states nothing new: two items that differed only in a secret stay two.
        content_hash = separate_hash(content_hash, item.uid)
    columns = {"type": draft.type, "tagged": bool(draft.tags), "content_hash": content_hash}
    update(connection, space_id, item.id, columns | content_columns(connection, draft))
    connection.run("DELETE FROM item_tags WHERE +space_id = ? AND item_id = ?", (space_id, item.id))
    write_tags(connection, space_id, [(item.id, draft.tags)])
    indexing.delete_passages(connection, space_id, item.id)
    if is_live(item):
        indexing.add(connection, space_id, item.id, place.project_id, draft)
        count_items(connection, space_id, [(place, item)], -1)
        count_items(connection, space_id, [(place, draft)], +1)
    else:
        indexing.add_passages(connection, space_id, item.id, draft.passages)
