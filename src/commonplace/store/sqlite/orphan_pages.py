"""Rows on pages that nothing leads to: because a page above them, or the schema that named their table, is damaged.

Which table they are of is told by their shape, and by what other rows say of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from commonplace.store.sqlite.page_reader import INDEX_INNER, INDEX_LEAF, TABLE_LEAF, Pages, Row, Unreadable
from commonplace.store.sqlite.table_shapes import Table

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
