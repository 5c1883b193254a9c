"""Asking the database: a query's rows, its first row, or its one value. The border where types end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.store.postgres.connection import PostgresConnection as Connection

Bindings = Sequence[Any] | Mapping[str, Any]

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def run(connection: Connection, sql: str, bindings: Bindings = ()) -> int:
    """Do something, and tell how many rows it touched."""
    return connection.execute(sql, bindings).rowcount


def each(connection: Connection, sql: str, many: Sequence[Bindings]) -> None:
    """The same for many rows, in as few trips to the server as possible."""
    if many:
        with connection.cursor() as cursor:
            cursor.executemany(sql, many)


def rows(
    connection: Connection, sql: str, bindings: Bindings = (), *, binary: bool = False, prepared: bool = False
) -> list[Any]:
    """All rows as tuples; `binary` is quicker where they hold many bytes.

    What is `prepared` is planned once for all values: for rows that are looked up by their keys. Whatever searches is
    planned each time, since the best way depends on what is sought.
    """
    return connection.execute(sql, bindings, binary=binary, prepare=prepared).fetchall()


def first(connection: Connection, sql: str, bindings: Bindings = (), *, prepared: bool = False) -> Any:
    """The first row as a tuple, or None."""
    return connection.execute(sql, bindings, prepare=prepared).fetchone()


def value(connection: Connection, sql: str, bindings: Bindings = ()) -> Any:
    """The one value of a query that always has exactly one row, such as a count or a RETURNING id."""
    row = first(connection, sql, bindings)
    assert row is not None
    return row[0]


def ids(numbers: Iterable[int]) -> str:
    """Ids as the server writes an array: a list of hundreds takes longer to bind than its rows take to be found."""
    return "{" + ",".join(map(str, numbers)) + "}"


def as_json(value: object) -> str:
    """As the database can read it: PostgreSQL has no NUL characters, also not spelled as JSON does."""
    text = _ENCODER.encode(value) if value else "{}"
    return re.sub(r"(\\\\)|\\u0000", lambda found: found[1] or "\ufffd", text) if "\\u0000" in text else text
