"""Rows that SQLite cannot arrange by itself: the shape of each table, and which table a page without a parent is of."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from commonplace.store.damaged_values import DamagedText
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.damaged_page_reader import INDEX_INNER, INDEX_LEAF, TABLE_LEAF, Pages, Row, Unreadable
from commonplace.store.sqlite.migrate import migrations

# What SQLite and FTS5 keep for themselves, and what is not copied because it is made anew.
_OWN_TABLES = "name NOT LIKE 'sqlite_%' AND name NOT LIKE 'passages_fts%'"
_TYPES: dict[str, tuple[type, ...]] = {"INTEGER": (int,), "TEXT": (str,), "REAL": (float, int), "BLOB": (bytes,)}
_EMPTY: dict[str, Any] = {"INTEGER": 0, "TEXT": "", "REAL": 0.0, "BLOB": b""}
_ADDED = re.compile(r"ALTER TABLE (\w+) ADD COLUMN", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """A table: its columns with their types and defaults, and which of them are its key, in the key's order."""

    name: str
    types: dict[str, str]
    required: frozenset[str]
    defaults: dict[str, Any]
    keys: tuple[str, ...]
    has_number: bool

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.types)

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """Its columns in the order of a row on a page: one without a number begins with its key."""
        if self.has_number:
            return self.columns
        return (*self.keys, *(name for name in self.columns if name not in self.keys))

    @cached_property
    def number(self) -> str | None:
        """The column that is another name for the number of a row."""
        one = self.keys[0] if self.has_number and len(self.keys) == 1 else None
        return one if one is not None and self.types[one] == "INTEGER" else None

    def fits(self, row: Row) -> bool:
        """Whether a row on a page may be of this table, by the number and the types of its values."""
        if (row.number is not None) != self.has_number or not self._may_have(row.values):
            return False
        return all(
            value is None if name == self.number else self._may_be(name, value)
            for name, value in zip(self.stored, row.values, strict=False)
        )

    def arranged(self, row: Row) -> tuple[Any, ...] | None:
        """The values of a row on a page in the order of the columns, as SQLite would give them; None if too many."""
        if not self._may_have(row.values):
            return None
        found = dict(zip(self.stored, row.values, strict=False))
        if self.number is not None:
            found[self.number] = row.number
        whole: dict[str, Any] = {name: found.get(name, self.defaults[name]) for name in self.columns}
        # Whole numbers are stored as such, also where the column is for others.
        return tuple(
            float(value) if self.types[name] == "REAL" and isinstance(value, int) else value
            for name, value in whole.items()
        )

    def fitted(self, column: str, value: Any) -> Any:
        """A value as the column takes it: the nearest where it is of another type, a default where it is missing."""
        type_ = self.types[column]
        if value is None:
            default = self.defaults[column]
            return (_EMPTY[type_] if default is None else default) if column in self.required else None
        if type_ == "REAL" and isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, _TYPES[type_]):
            return value
        if type_ == "TEXT":
            return DamagedText(value) if isinstance(value, bytes) else str(value)
        if type_ == "BLOB" and isinstance(value, str):
            return value.raw if isinstance(value, DamagedText) else value.encode()
        if type_ == "INTEGER" and isinstance(value, float) and abs(value) < 2**62:
            return int(value)
        return self.fitted(column, None)

    def _may_have(self, values: Sequence[Any]) -> bool:
        return len(self.columns) - added_columns()[self.name] <= len(values) <= len(self.columns)

    def _may_be(self, name: str, value: Any) -> bool:
        return name not in self.required if value is None else isinstance(value, _TYPES[self.types[name]])


@cache
def added_columns() -> Counter[str]:
    """How many columns each table got since its first rows were written, which have so many values less."""
    return Counter(name for _number, _name, script in migrations() for name in _ADDED.findall(script))


def tables_of(connection: SqliteConnection) -> dict[str, Table]:
    """Our own tables in a file that is whole, in the order in which they were made."""
    question = f"SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND {_OWN_TABLES} ORDER BY rowid"
    return {name: _table(connection, name, made) for name, made in connection.rows(question)}


def _table(connection: SqliteConnection, name: str, made: str) -> Table:
    rows = connection.rows(f"PRAGMA table_info({name})")
    defaults = {row[1]: None if row[4] is None else connection.value(f"SELECT {row[4]}") for row in rows}
    return Table(
        name,
        {row[1]: row[2] for row in rows},
        frozenset(row[1] for row in rows if row[3] or row[5]),
        defaults,
        tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]),
        "WITHOUT ROWID" not in made,
    )


Read = Callable[..., list[tuple[Any, ...]]]
"""Asks for rows that were saved already."""

# Looked at of a tree to tell what it is.
_SAMPLE = 200
# (space, text, number): these tables, and indexes of others, have rows of the same shape.
_ALIKE = ("project_aliases", "item_tags")
_INDEXED = (("projects", "name"), ("sessions", "key"), ("items", "uid"), ("sessions", "uid"))


def orphans(
    pages: Pages, visited: set[int], tables: Mapping[str, Table], known: set[str], read: Read
) -> Iterator[tuple[Table, Row]]:
    """Rows on pages that were not visited, with their tables; `known` are those whose trees were."""
    numbered = [table for table in tables.values() if table.has_number]
    for number in range(1, pages.count + 1):
        if number not in visited and _kind(pages, number) == TABLE_LEAF:
            visited.add(number)
            rows = [*pages.rows(number)]
            table = _table_of(rows, numbered)
            yield from ((table, row) for row in rows if table is not None)
    unnumbered = [table for table in tables.values() if not table.has_number and table.name not in known]
    if not unnumbered:
        return
    for root in _roots(pages, visited):
        rows = [row for number in pages.tree(root, visited) for row in pages.rows(number)]
        table = _unnumbered(rows[:_SAMPLE], unnumbered, read)
        yield from ((table, row) for row in rows if table is not None and table.fits(row))


def _kind(pages: Pages, number: int) -> int:
    try:
        return pages.kind(number)
    except Unreadable:
        return 0


def _table_of(rows: list[Row], tables: list[Table]) -> Table | None:
    """The table that most rows of a page fit; of those alike, the one with as many columns."""
    votes: Counter[str] = Counter()
    for row in rows:
        fitting = [table for table in tables if table.fits(row)]
        exact = [table for table in fitting if len(table.columns) == len(row.values)]
        votes.update(table.name for table in _distinguished(exact or fitting, row))
    best = votes.most_common(1)
    return next((table for table in tables if best and table.name == best[0][0]), None)


def _distinguished(fitting: list[Table], row: Row) -> list[Table]:
    """Histories of items and of sessions differ in what they keep."""
    if {table.name for table in fitting} >= {"history", "session_history"}:
        try:
            of_item = "body" in json.loads(str(row.values[-1]))
        except (ValueError, TypeError):
            of_item = True
        return [table for table in fitting if table.name == ("history" if of_item else "session_history")]
    return fitting


def _roots(pages: Pages, visited: set[int]) -> list[int]:
    """The first pages of trees without numbers that were not visited."""
    left = [
        number
        for number in range(1, pages.count + 1)
        if number not in visited and _kind(pages, number) in (INDEX_LEAF, INDEX_INNER)
    ]
    below = {child for number in left for child in pages.children(number)}
    return [number for number in left if number not in below]


def _unnumbered(rows: list[Row], tables: list[Table], read: Read) -> Table | None:
    """The table that a tree is, if it is none of the indexes, which have the same form."""
    fitting = [
        table
        for table in tables
        if rows and all(table.fits(row) and len(row.values) == len(table.columns) for row in rows)
    ]
    if not fitting:
        return None
    if {table.name for table in fitting} & {*_ALIKE}:
        return _alias_or_tag(rows, fitting, read)
    return fitting[0] if len(fitting) == 1 else None


def _alias_or_tag(rows: list[Row], fitting: list[Table], read: Read) -> Table | None:
    """Names of projects, tags of items, or an index of keys or uids: the rows that they are of tell."""
    entries = [(str(row.values[1]), row.values[2]) for row in rows]
    # Every project answers to its own name.
    named = {number for text, number in entries if _is_name(read, number, text)}
    if named == {number for _text, number in entries}:
        name = "project_aliases"
    elif sum(_is_indexed(read, number, text) for text, number in entries) * 2 > len(entries):
        return None
    elif sum(_is_tagged(read, number) for _text, number in entries) * 2 > len(rows):
        name = "item_tags"
    else:
        return None
    return next((table for table in fitting if table.name == name), None)


def _is_name(read: Read, number: object, text: str) -> bool:
    names = [str(row[0]) for row in read("SELECT name FROM projects WHERE id = ?", number)]
    return any(text == name.casefold() for name in names)


def _is_tagged(read: Read, number: object) -> bool:
    return bool(read("SELECT 1 FROM items WHERE id = ? AND tagged", number))


def _is_indexed(read: Read, number: object, text: str) -> bool:
    for table, column in _INDEXED:
        found = [str(row[0]) for row in read(f"SELECT {column} FROM {table} WHERE id = ?", number)]
        if any(text in (one, one[-12:]) for one in found):
            return True
    return False
