"""Checking, repairing and scrubbing: rows compared with what always holds, derived data rebuilt, texts cleaned."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.errors import StoreError
from commonplace.model import Draft, Item, Passage
from commonplace.store.damaged_values import DamagedRow, DamagedText, Reader, parsed
from commonplace.store.invariants import SEARCHED, STRAY_TOKENS, STRAY_VECTORS, UNSPLIT, VECTORLESS, Invariant
from commonplace.store.maintenance import FileDamage, IndexState, RowKey, TextRow, Violations
from commonplace.store.records import separate_hash
from commonplace.store.sql import indexing, item_changes, items, sessions
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
from commonplace.store.sql.vectors import current_model
from commonplace.store.types import MAX_EMBED_TRIES

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


EXAMPLES = 5
_LAST = {"p.id": "passages", "i.id": "items"}
_GIVEN_UP = f"FROM jobs WHERE space_id = {{space}} AND kind = 'embed' AND tries >= {MAX_EMBED_TRIES}"
_WAITING = f"FROM jobs WHERE space_id = {{space}} AND kind = 'embed' AND tries < {MAX_EMBED_TRIES}"


class Integrity(Space):
    """Checking one space. An engine adds its own invariants, and what it knows of its files."""

    # Searched passages without a row in the full-text index, rows of it that belong to nothing, and their id.
    _WORDLESS: str
    _STRAY_WORDS: str
    _STRAY_ROW: str
    # What the rows of the engine have to satisfy, in the order in which violations are repaired.
    _INVARIANTS: Sequence[Invariant]

    def _file_damage(self, connection: Any, *, quick: bool) -> list[FileDamage]:
        raise NotImplementedError

    def invariants(self) -> Sequence[Invariant]:
        return self._INVARIANTS

    def file_damage(self, *, quick: bool) -> Sequence[FileDamage]:
        with self._database.read() as connection:
            return self._file_damage(connection, quick=quick)

    def file_problems(self, seconds: float) -> Sequence[str]:
        with self._database.read(seconds) as connection:
            return tuple(damage.sentence for damage in self._file_damage(connection, quick=True))

    def violations(self, invariant: Invariant, newest: int | None = None) -> Violations:
        rows = filled(invariant.rows)
        if newest is not None and invariant.newest:
            # Along the ids of the rows, where SQLite would rather read all of a space.
            rows = rows.replace("FROM items i WHERE", "FROM items i NOT INDEXED WHERE", 1)
            last = f"SELECT max(id) FROM {_LAST[invariant.newest]} /*pg WHERE space_id = :space */"
            rows += f" AND {invariant.newest} > ({last}) - :newest"
        with self._database.read() as connection:
            bindings = {**self._bindings(connection), "newest": newest}
            count = int(connection.value(f"SELECT count(*) {rows}", bindings))
            some = connection.rows(f"SELECT {invariant.key} {rows} LIMIT {EXAMPLES}", bindings) if count else ()
        return Violations(count, tuple(invariant.named.format(row[0]) for row in some))

    def repair(self, invariant: Invariant, limit: int) -> int:
        with self._database.write() as connection:
            return connection.run(filled(invariant.repair), self._bindings(connection, limit))

    # Whoever runs a database server does these (docs/reference/postgresql.md); an engine with a file does them itself.

    def reindex(self) -> None:
        return

    def altered_items(self, after: int, limit: int) -> tuple[list[int], int | None]:
        return [], None

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        hint = "Use pg_dump; see docs/reference/postgresql.md."
        raise StoreError("A database on a server is not copied into a file here.", hint)

    def damaged_rows(self, part: str, after: RowKey | None, limit: int) -> tuple[list[DamagedRow], RowKey | None]:
        with self._database.read() as connection:
            rows = table_rows(connection, self._space_id, TEXT_TABLES[part], after, limit)
        found = [damage for damage in (damaged_row(part, row) for row in rows) if damage is not None]
        return found, tuple(rows[-1][: len(TEXT_TABLES[part].keys)]) if rows else None

    def items_by_id(self, after: int, limit: int) -> list[Item]:
        select = "SELECT id FROM items WHERE +space_id = ? AND id > ? ORDER BY id LIMIT ?"
        with self._database.read() as connection:
            ids = [row[0] for row in connection.rows(select, (self._space_id, after, limit))]
            found = items.get(connection, self._space_id, ids)
        return [found[id_] for id_ in ids]

    def unsplit_items(self, limit: int) -> list[Item]:
        with self._database.read() as connection:
            rows = connection.rows(filled(f"SELECT i.id {UNSPLIT} LIMIT {{limit}}"), self._bindings(connection, limit))
            return [*items.get(connection, self._space_id, [row[0] for row in rows]).values()]

    def resplit(self, item_id: int, passages: Sequence[Passage]) -> None:
        with self._database.write() as connection:
            item = items.get_one(connection, self._space_id, item_id)
            project_id = item_changes.location_of(connection, self._space_id, item_id).project_id
            indexing.delete_passages(connection, self._space_id, item_id)
            indexing.add_passages(connection, self._space_id, item_id, passages)
            if item_changes.is_live(item):
                indexing.show(connection, self._space_id, [(project_id, item)])

    def miscounted_sessions(self, after: int, limit: int) -> tuple[list[int], int | None]:
        select = "SELECT id, messages, words, bytes, sketch FROM sessions WHERE +space_id = ? AND id > ?"
        with self._database.read() as connection:
            rows = connection.rows(f"{select} ORDER BY id LIMIT ?", (self._space_id, after, limit))
            wrong = [
                id_
                for id_, *sums, sketch in rows
                if not sessions.is_counted(connection, self._space_id, id_, tuple(sums), bytes(sketch))
            ]
        return wrong, rows[-1][0] if rows else None

    def recount_sessions(self, session_ids: Sequence[int]) -> None:
        # The sketch is made of the messages when somebody asks for it.
        change = "UPDATE sessions SET messages = ?, words = ?, bytes = ?, sketch = ? WHERE space_id = ? AND id = ?"
        with self._database.write() as connection:
            for id_ in session_ids:
                counted = sessions.count_messages(connection, self._space_id, id_)
                connection.run(change, (*counted, b"", self._space_id, id_))

    def index_state(self, seconds: float) -> IndexState:
        with self._database.read(seconds) as connection:
            bindings = self._bindings(connection)

            def count(rows: str) -> int:
                return int(connection.value(filled(f"SELECT count(*) {rows}"), bindings))

            return IndexState(
                passages=count(SEARCHED),
                wordless=count(self._WORDLESS),
                vectorless=count(VECTORLESS),
                waiting=count(_WAITING),
                given_up=count(_GIVEN_UP),
                stray=count(self._STRAY_WORDS) + count(STRAY_VECTORS) + count(STRAY_TOKENS),
            )

    def repair_text_index(self, limit: int) -> int:
        with self._database.write() as connection:
            bindings = self._bindings(connection, limit)
            select = filled(f"SELECT DISTINCT i.id, i.project_id {self._WORDLESS} LIMIT {{limit}}")
            missing = dict(connection.rows(select, bindings))
            found = items.get(connection, self._space_id, missing)
            for item_id, project_id in missing.items():
                indexing.reindex(connection, self._space_id, project_id, found[item_id])
            select = filled(f"SELECT {self._STRAY_ROW} {self._STRAY_WORDS} LIMIT {{limit}}")
            stray = [row[0] for row in connection.rows(select, bindings)]
            connection.delete_fulltext(self._space_id, stray)
            stray_vectors = f"SELECT v.seq {STRAY_VECTORS} LIMIT {{limit}}"
            delete = f"DELETE FROM vectors WHERE +space_id = {{space}} AND seq IN ({stray_vectors})"
            gone = connection.run(filled(delete), bindings)
            stray_tokens = f"SELECT t.passage_id {STRAY_TOKENS} LIMIT {{limit}}"
            delete = f"DELETE FROM token_vectors WHERE space_id = {{space}} AND passage_id IN ({stray_tokens})"
            gone += connection.run(filled(delete), bindings)
        return len(missing) + len(stray) + gone

    def _bindings(self, connection: Connection, limit: int = 0) -> Mapping[str, object]:
        return {"space": self._space_id, "model": current_model(connection, self._space_id), "limit": limit}


def filled(statement: str) -> str:
    """A statement about invariants with its parameters."""
    return statement.format(space=":space", model=":model", limit=":limit")
