"""Asking the database: a query's rows, its first row, or its one value. The border where types end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

Bindings = Sequence[Any] | Mapping[str, Any]


def rows(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> list[Any]:
    """All rows as tuples. Read to the end, so that no cursor keeps a snapshot open."""
    return connection.execute(sql, bindings).fetchall()


def first(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> Any:
    """The first row as a tuple, or None."""
    found = connection.execute(sql, bindings).fetchall()
    return found[0] if found else None


def value(connection: apsw.Connection, sql: str, bindings: Bindings = ()) -> Any:
    """The one value of a query that always has exactly one row, such as a count."""
    return connection.execute(sql, bindings).fetchall()[0][0]
