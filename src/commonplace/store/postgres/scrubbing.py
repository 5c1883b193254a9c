"""Cleaning in the database: rows that hold somebody's words (holders.py), and items, which are more work."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from commonplace.model import Draft, Item
from commonplace.store.maintenance import RowKey, TextRow
from commonplace.store.postgres import changes, index, items, sql
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace
from commonplace.store.sql.spaces import unlimited
from commonplace.store.text_tables import ITEMS, TEXT_TABLES, TextTable, cleaned_columns, text_row, texts_in


class Scrubbing(PostgresSpace):
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
            # Cleaning leaves no history, and what was told before it must not pass for true.
            sql.run(
                connection,
                "INSERT INTO meta (space_id, key, value) VALUES (%s, 'wiped', '1') ON CONFLICT (space_id, key)"
                " DO UPDATE SET value = (meta.value::bigint + 1)::text",
                (self._space_id,),
            )
        return self._database.vacuum(
            sorted({"items", "passages", "words", *(part.table for part in TEXT_TABLES.values())})
        )


def _item_holders(connection: Connection, space_id: int, after: RowKey | None, limit: int) -> list[TextRow]:
    question = "SELECT id FROM items WHERE space_id = %s AND id > %s ORDER BY id LIMIT %s"
    ids = [row[0] for row in sql.rows(connection, question, (space_id, after[0] if after else 0, limit))]
    found = items.get(connection, space_id, ids)
    return [
        TextRow(
            (id_,), f"item {id_}", tuple(texts_in([one.type, one.title, one.body, one.details, one.meta, one.tags]))
        )
        for id_, one in sorted(found.items())
    ]


def part_rows(
    connection: Connection, space_id: int, part: TextTable, after: RowKey | None, limit: int
) -> list[tuple[Any, ...]]:
    keys = ", ".join(part.keys)
    beyond = f"AND ({keys}) > ({', '.join(['%s'] * len(part.keys))})" if after else ""
    return sql.rows(
        connection,
        f"SELECT {', '.join((*part.keys, *part.columns))} FROM {part.table}"
        f" WHERE space_id = %s {beyond} ORDER BY {keys} LIMIT %s",
        (space_id, *(after or ()), limit),
    )


def _clean_row(
    connection: Connection, space_id: int, part: TextTable, mark: RowKey, clean: Callable[[str], str]
) -> None:
    here = f"space_id = %s AND ({', '.join(part.keys)}) = ({', '.join(['%s'] * len(mark))})"
    row = sql.first(connection, f"SELECT {', '.join(part.columns)} FROM {part.table} WHERE {here}", (space_id, *mark))

    def is_taken(name: str) -> bool:
        question = f"SELECT count(*) FROM {part.table} WHERE space_id = %s AND {part.name} = %s"
        return bool(sql.value(connection, question, (space_id, name)))

    left = None if row is None else cleaned_columns(part, mark, row, clean, is_taken)
    if left is None:
        return
    if part.lossy:
        sql.run(connection, f"DELETE FROM {part.table} WHERE {here}", (space_id, *mark))
        return
    update = f"UPDATE {part.table} SET {', '.join(f'{column} = %s' for column in part.columns)} WHERE {here}"
    sql.run(connection, update, (*left, space_id, *mark))


def _clean_item(connection: Connection, space_id: int, item: Item, draft: Draft) -> None:
    place = changes.place_of(connection, space_id, item.id)
    same = (space_id, place.project_id or 0, draft.content_hash)
    content_hash = draft.content_hash
    if sql.first(connection, f"SELECT 1 FROM items WHERE {changes.SAME} AND id <> %s", (*same, item.id)):
        # Cleaning is not saying: two that differed only in a secret stay two.
        content_hash = hashlib.sha256(content_hash + item.uid.encode()).digest()
    sql.run(
        connection,
        "UPDATE items SET type = %s, title = %s, body = %s, details = %s, meta = %s, tokens = %s, tagged = %s,"
        " content_hash = %s, rev = rev + 1 WHERE space_id = %s AND id = %s",
        (
            draft.type,
            draft.title,
            draft.body,
            sql.as_json(draft.details),
            sql.as_json(draft.meta),
            draft.tokens,
            bool(draft.tags),
            content_hash,
            space_id,
            item.id,
        ),
    )
    sql.run(connection, "DELETE FROM item_tags WHERE space_id = %s AND item_id = %s", (space_id, item.id))
    changes.write_tags(connection, space_id, item.id, draft.tags)
    index.drop_passages(connection, space_id, item.id)
    if item.forgotten_ms is None and item.superseded_by is None:
        index.add(connection, space_id, item.id, place.project_id, draft)
        changes.count_item(connection, space_id, place, item, -1)
        changes.count_item(connection, space_id, place, draft, +1)
    else:
        index.add_passages(connection, space_id, item.id, draft.passages)
