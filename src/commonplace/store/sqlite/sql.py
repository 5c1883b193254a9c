"""Asking the database: a query's rows, its first row, or its one value. The border where types end.

Text that is not valid UTF-8 (a damaged page, a flipped bit) does not make a query fail: the query is repeated with its
texts as bytes, and what cannot be decoded arrives as `DamagedText`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import apsw

from commonplace.store.damage import DamagedText

Bindings = Sequence[Any] | Mapping[str, Any]
_BATCH = 500


def rows(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> list[Any]:
    """All rows as tuples. Read to the end, so that no cursor keeps a snapshot open."""
    try:
        return connection.execute(sql, bindings).fetchall()
    except UnicodeDecodeError:
        return [*_decoded(connection, sql, bindings)]


def first(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> Any:
    """The first row as a tuple, or None."""
    found = rows(connection, sql, bindings)
    return found[0] if found else None


def value(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> Any:
    """The one value of a query that always has exactly one row, such as a count."""
    return rows(connection, sql, bindings)[0][0]


def stream(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
    """Rows one by one, for queries whose rows would not fit into memory together."""
    read = 0
    cursor = connection.execute(sql, bindings)
    try:
        while some := list(islice(cursor, _BATCH)):
            yield from some
            read += len(some)
    except UnicodeDecodeError:
        # The rows of the batch that broke off come again.
        cursor.close()
        yield from islice(_decoded(connection, sql, bindings), read, None)


def place(value: object) -> str:
    """Where a value goes in a statement; damaged text is compared by its bytes."""
    return "CAST(? AS TEXT)" if isinstance(value, DamagedText) else "?"


def binding(value: Any) -> Any:
    """What goes there."""
    return value.raw if isinstance(value, DamagedText) else value


def readable_json(column: str) -> str:
    """A column of JSON for SQL to look into: empty where the JSON is damaged, which SQLite would refuse."""
    return f"iif(json_valid({column}), {column}, '{{}}')"


def _decoded(connection: apsw.Connection, sql: str, bindings: Bindings) -> Iterator[tuple[Any, ...]]:
    """The rows of a query with every text read as bytes and decoded here, as far as it can be."""
    names = [f"c{n}" for n in range(_width(connection, sql, bindings))]
    texts = ", ".join(f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name}), typeof({name})" for name in names)
    question = f"WITH found({', '.join(names)}) AS ({sql.rstrip().rstrip(';')}) SELECT {texts} FROM found"
    for row in connection.execute(question, bindings):
        pairs = zip(row[::2], row[1::2], strict=True)
        yield tuple(_text(value) if kind == "text" else value for value, kind in pairs)


def _width(connection: apsw.Connection, sql: str, bindings: Bindings) -> int:
    """How many columns a query has, asked before its first row is decoded."""
    width = 0

    def look(cursor: apsw.Cursor, _sql: str, _bindings: apsw.Bindings | None) -> bool:
        nonlocal width
        width = len(cursor.get_description())
        return False

    cursor = connection.cursor()
    cursor.exec_trace = look
    with contextlib.suppress(apsw.ExecTraceAbort):
        cursor.execute(sql, bindings)
    return width


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return DamagedText(value)
