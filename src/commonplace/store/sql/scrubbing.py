"""Scrubbing: cleaning rows that hold texts (text_tables.py), and items, which are more work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from commonplace.model import Draft, Item
from commonplace.store.damage import DamagedText
from commonplace.store.maintenance import RowKey, TextRow
from commonplace.store.records import separate_hash
from commonplace.store.sql import indexing, items
from commonplace.store.sql.connection import Connection
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
from commonplace.store.sql.space import Space
from commonplace.store.sql.spaces import unlimited
from commonplace.store.text_tables import ITEMS, TEXT_TABLES, TextTable, cleaned_columns, text_row, texts_in


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
