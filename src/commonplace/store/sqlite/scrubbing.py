"""Cleaning in the file: rows that hold somebody's words (holders.py), and items, which are more work."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from commonplace.model import Draft, Item
from commonplace.store.damage import content_checksum
from commonplace.store.maintenance import RowKey, TextRow
from commonplace.store.sql.spaces import unlimited
from commonplace.store.sqlite import changes, index, items, sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.content_mark import WIPED
from commonplace.store.sqlite.space import SqliteSpace
from commonplace.store.text_tables import ITEMS, TEXT_TABLES, TextTable, cleaned_columns, text_row, texts_in


class Scrubbing(SqliteSpace):
    """The engine's part about cleaning."""

    def text_parts(self) -> Sequence[str]:
        return (ITEMS, *TEXT_TABLES)

    def text_rows(self, part: str, after: RowKey | None, limit: int) -> list[TextRow]:
        with self._database.read() as connection:
            if part == ITEMS:
                return _item_holders(connection, self._space_id, after, limit)
            return [
                text_row(part, row) for row in part_rows(connection, self._space_id, TEXT_TABLES[part], after, limit)
            ]

    def clean_text_rows(self, part: str, marks: Sequence[RowKey], clean: Callable[[str], str]) -> None:
        with self._database.write() as connection:
            for mark in marks:
                _clean_row(connection, self._space_id, TEXT_TABLES[part], mark, clean)

    def clean_items(self, marks: Sequence[RowKey], redraft: Callable[[Item], Draft]) -> None:
        with self._database.write() as connection, unlimited(connection, self._space_id):
            for item in items.get(connection, self._space_id, [mark[0] for mark in marks]).values():
                _clean_item(connection, self._space_id, item, redraft(item))

    def erase_deleted(self) -> bool:
        with self._database.write() as connection:
            # What was deleted from the index is still in it until its pieces are joined; there must be two to join.
            connection.execute("INSERT INTO passages_fts (rowid, text) VALUES (-9223372036854775807, 'x')")
            connection.execute("DELETE FROM passages_fts WHERE rowid = -9223372036854775807")
            connection.execute("INSERT INTO passages_fts (passages_fts) VALUES ('optimize')")
            # Cleaning leaves no history, and what was told before it must not pass for true.
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?, '1')"
                " ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
                (WIPED,),
            )
        return self._database.compact()


def _item_holders(connection: SqliteConnection, space_id: int, after: RowKey | None, limit: int) -> list[TextRow]:
    question = "SELECT id FROM items WHERE space_id = ? AND id > ? ORDER BY id LIMIT ?"
    ids = [row[0] for row in sql.rows(connection, question, (space_id, after[0] if after else 0, limit))]
    found = items.get(connection, space_id, ids)
    return [
        TextRow(
            (id_,), f"item {id_}", tuple(texts_in([one.type, one.title, one.body, one.details, one.meta, one.tags]))
        )
        for id_, one in sorted(found.items())
    ]


def _ours(part: TextTable) -> str:
    chunk = part.table == "stream_parts"
    return "stream_id IN (SELECT id FROM streams WHERE space_id = ?)" if chunk else "space_id = ?"


def _places(mark: RowKey) -> str:
    return ", ".join(map(sql.place, mark))


def part_rows(
    connection: SqliteConnection, space_id: int, part: TextTable, after: RowKey | None, limit: int
) -> list[tuple[Any, ...]]:
    keys = ", ".join(part.keys)
    beyond = f"AND ({keys}) > ({_places(after)})" if after else ""
    return sql.rows(
        connection,
        f"SELECT {', '.join((*part.keys, *part.columns))} FROM {part.table}"
        f" WHERE {_ours(part)} {beyond} ORDER BY {keys} LIMIT ?",
        (space_id, *map(sql.binding, after or ()), limit),
    )


def _clean_row(
    connection: SqliteConnection, space_id: int, part: TextTable, mark: RowKey, clean: Callable[[str], str]
) -> None:
    here = f"{_ours(part)} AND ({', '.join(part.keys)}) = ({_places(mark)})"
    mark = tuple(map(sql.binding, mark))
    row = sql.first(connection, f"SELECT {', '.join(part.columns)} FROM {part.table} WHERE {here}", (space_id, *mark))

    def is_taken(name: str) -> bool:
        question = f"SELECT count(*) FROM {part.table} WHERE space_id = ? AND {part.name} = ?"
        return bool(sql.value(connection, question, (space_id, name)))

    left = None if row is None else cleaned_columns(part, mark, row, clean, is_taken)
    if left is None:
        return
    if part.lossy:
        connection.execute(f"DELETE FROM {part.table} WHERE {here}", (space_id, *mark))
        return
    update = f"UPDATE {part.table} SET {', '.join(f'{column} = ?' for column in part.columns)} WHERE {here}"
    connection.execute(update, (*left, space_id, *mark))


def _clean_item(connection: SqliteConnection, space_id: int, item: Item, draft: Draft) -> None:
    item = changes.changeable(connection, space_id, item.id)
    place = changes.place_of(connection, item.id)
    same = (space_id, place.project_id or 0, draft.content_hash)
    content_hash = draft.content_hash
    if sql.first(connection, f"SELECT 1 FROM items WHERE {changes.SAME} AND id <> ?", (*same, item.id)):
        # Cleaning is not saying: two that differed only in a secret stay two.
        content_hash = hashlib.sha256(content_hash + item.uid.encode()).digest()
    connection.execute(
        "UPDATE items SET type = ?, title = ?, body = ?, details = ?, meta = ?, tokens = ?, tagged = ?,"
        " content_hash = ?, checksum = ?, rev = rev + 1 WHERE id = ?",
        (
            draft.type,
            draft.title,
            draft.body,
            changes.as_json(draft.details),
            changes.as_json(draft.meta),
            draft.tokens,
            bool(draft.tags),
            content_hash,
            content_checksum(draft.title, draft.body, changes.as_json(draft.details)),
            item.id,
        ),
    )
    connection.execute("DELETE FROM item_tags WHERE item_id = ?", (item.id,))
    changes.write_tags(connection, space_id, item.id, draft.tags)
    index.drop_passages(connection, space_id, item.id)
    if item.forgotten_ms is None and item.superseded_by is None:
        index.add(connection, space_id, item.id, place.project_id, draft)
        changes.count_item(connection, space_id, place, item, -1)
        changes.count_item(connection, space_id, place, draft, +1)
    else:
        index.add_passages(connection, space_id, item.id, draft.passages)
