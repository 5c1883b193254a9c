"""Behind the back of the memory: statements in its database, on either engine, and a look at all that it holds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import psycopg

from commonplace.config import Settings

Ask = Callable[[str], list[tuple[Any, ...]]]
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"
_FILE_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'passages_fts%' ORDER BY 1"


@contextlib.contextmanager
def behind(settings: Settings, *, reading: bool = False) -> Iterator[Ask]:
    """Another connection to the store of these settings; `reading` keeps what it saw in sight until the end."""
    if settings.database_url:
        with psycopg.connect(settings.database_url, autocommit=True) as server:

            def ask(statement: str) -> list[tuple[Any, ...]]:
                cursor = server.execute(statement.encode())
                return cursor.fetchall() if cursor.description else []

            if reading:
                ask("BEGIN ISOLATION LEVEL REPEATABLE READ")
            yield ask
        return
    with contextlib.closing(apsw.Connection(str(settings.database))) as file:
        if reading:
            file.execute("BEGIN")
        yield lambda statement: file.execute(statement).fetchall()


def all_rows(settings: Settings) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    with behind(settings) as ask:
        tables = [name for (name,) in ask(_TABLES if settings.database_url else _FILE_TABLES)]
        return {table: sorted(map(str, ask(f"SELECT * FROM {table}"))) for table in tables}
