"""Exports as JSON: their records are laid out as the tables they were exported from, and read like those.

So there is one way to read a product, and an export of any length needs no more memory than a database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import apsw

from commonplace.capture.foreign import Found, Skipped, Stream
from commonplace.capture.json_stream import Element, records
from commonplace.capture.move_in.database import Database, Unreadable, quoted, scratch
from commonplace.memory.remember import UNSTORABLE

ABOUT = "export"
"""The table of what an export says of itself."""

Read = Callable[[Database], Iterator[Found]]


def read_as(
    stream: Stream, tables: Mapping[str, str], read: Read, columns: Mapping[str, str] | None = None
) -> Iterator[Found]:
    """What `read` finds in an export, whose arrays, or whose `_type` of record, stand for these tables.

    Records that say nothing of the kind belong to the table of the empty name. Tables have these `columns` even where
    no record does.
    """
    try:
        with scratch() as connection:
            layout = _Layout(connection, columns or {})
            for element in records(stream, tables):
                if isinstance(element, Skipped):
                    yield element
                elif isinstance(element.value, dict):
                    layout.add(_table(element, tables), element.value)
                else:
                    yield Skipped(f"record {element.number}", "it is no object", "item")
            layout.index()
            yield from read(Database(connection))
    except Unreadable as error:
        yield Skipped("its records", str(error), "file")


def _table(element: Element, tables: Mapping[str, str]) -> str:
    if "_meta" in element.value:
        return ABOUT
    name = element.within or element.value.get("_type") or ""
    return tables.get(name, ABOUT) if isinstance(name, str) else ABOUT


class _Layout:
    """Tables that get a column whenever a record has a field they do not know yet."""

    def __init__(self, connection: apsw.Connection, columns: Mapping[str, str]) -> None:
        self._connection, self._expected = connection, columns
        self._columns: dict[str, set[str]] = {}

    def add(self, table: str, record: Mapping[str, Any]) -> None:
        # SQL knows no difference of case.
        names = {_name(field).lower(): _name(field) for field in record if field != "_type"}
        cells = {_name(field).lower(): _cell(value) for field, value in record.items() if field != "_type"}
        known = self._columns.setdefault(table, set())
        if not known:
            expected = self._expected.get(table, "id").split()
            self._connection.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, expected))})")
            known.update(name.lower() for name in expected)
        for name in cells:
            if name not in known:
                self._connection.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {quoted(names[name])}")
                known.add(name)
        into, marks = ", ".join(map(quoted, cells)) or quoted(min(known)), ", ".join("?" * len(cells)) or "NULL"
        self._connection.execute(f"INSERT INTO {quoted(table)} ({into}) VALUES ({marks})", tuple(cells.values()))

    def index(self) -> None:
        """What rows are looked up by."""
        for table, columns in self._columns.items():
            for column in sorted(columns):
                if column.endswith("id") or column in ("source", "target"):
                    name = quoted(f"{table} {column}")
                    self._connection.execute(f"CREATE INDEX {name} ON {quoted(table)} ({quoted(column)})")


def _name(field: str) -> str:
    return UNSTORABLE.sub("\ufffd", field) or "?"


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, int) and abs(value) >= 2**63:
        return str(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value
