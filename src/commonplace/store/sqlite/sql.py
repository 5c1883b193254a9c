"""Asking the database: a query's rows, its first row, or its one value. The border where types end.

Text that is not valid UTF-8 (a damaged page, a flipped bit) does not make a query fail: the query is repeated with its
texts as bytes, and what cannot be decoded arrives as `DamagedText`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from commonplace.store.damage import DamagedText
from commonplace.store.sqlite.connection import SqliteConnection

Bindings = Sequence[Any] | Mapping[str, Any]
_BATCH = 500


def rows(connection: SqliteConnection, sql: str, bindings: Bindings = ()) -> list[Any]:
    return connection.rows(sql, bindings)


def first(connection: SqliteConnection, sql: str, bindings: Bindings = ()) -> Any:
    return connection.first(sql, bindings)


def value(connection: SqliteConnection, sql: str, bindings: Bindings = ()) -> Any:
    return connection.value(sql, bindings)


def stream(connection: SqliteConnection, sql: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
    return connection.stream(sql, bindings)


def place(value: object) -> str:
    """Where a value goes in a statement; damaged text is compared by its bytes."""
    return "CAST(? AS TEXT)" if isinstance(value, DamagedText) else "?"


def binding(value: Any) -> Any:
    """What goes there."""
    return value.raw if isinstance(value, DamagedText) else value


def readable_json(column: str) -> str:
    """A column of JSON for SQL to look into: empty where the JSON is damaged, which SQLite would refuse."""
    return f"iif(json_valid({column}), {column}, '{{}}')"
