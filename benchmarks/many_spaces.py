"""Many small spaces in one PostgreSQL database, and how long a search inside one of them takes.

The first few are written through the production path. The others are copies of those, made by the server under new
names: row by row the same, in a fraction of the time.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable

import psycopg

from benchmarks.stores import give_vectors, write
from commonplace.memory.local_memory import LocalMemory, for_space
from commonplace.memory.recall import recall
from commonplace.model import Scope

Row = tuple[str, str, str]
Opened = Callable[[str, str], LocalMemory]
"""Opens the space of a name with an embedder."""

WRITTEN = 20
# So many of all spaces are asked.
ASKED = 50

_TABLES = """
SELECT c.relname, array_agg(a.attname::text) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
 WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
 GROUP BY c.oid HAVING 'space_id' = ANY(array_agg(a.attname::text))
"""
# A word in the index is led by its space.
_AS_COPIED: dict[str, str] = {
    "space_id": "%(new)s",
    "v": "replace(v::text, '''' || space_id || ':', '''' || %(new)s || ':')::tsvector",
}


def fill(address: str, opened: Opened, spaces: int, items: int) -> None:
    """Write so many spaces of so many items each."""
    for number in range(min(spaces, WRITTEN)):
        with contextlib.closing(opened(_name(number), "off")) as memory:
            write(memory, items, seed=number)
            give_vectors(memory)
    with psycopg.connect(address, autocommit=True) as connection:
        # Nothing is to be counted, checked or noted again.
        connection.execute("SET session_replication_role = replica")
        tables = connection.execute(_TABLES).fetchall()
        for number in range(WRITTEN, spaces):
            _copy(connection, tables, _name(number % WRITTEN), _name(number))
        connection.execute("VACUUM ANALYZE")


def _copy(
    connection: psycopg.Connection[tuple[object, ...]], tables: list[tuple[object, ...]], old: str, new: str
) -> None:
    with connection.transaction():
        made = connection.execute(
            "INSERT INTO spaces (name, created_ms) SELECT %s, created_ms FROM spaces WHERE name = %s"
            " RETURNING id, (SELECT id FROM spaces WHERE name = %s)",
            (new, old, old),
        ).fetchone()
        assert made is not None
        for table, columns in tables:
            assert isinstance(columns, list) and isinstance(table, str)
            copied = _AS_COPIED if table == "words" else {"space_id": _AS_COPIED["space_id"]}
            values = ", ".join(str(copied.get(column, column)) for column in columns)
            insert = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} WHERE space_id = %(old)s"
            connection.execute(insert.encode(), {"new": made[0], "old": made[1]})


def figures(opened: Opened, spaces: int, sorts: dict[str, list[tuple[str, Scope]]]) -> list[Row]:
    """A row for each sort of questions, asked of some of the spaces."""
    taken: dict[str, list[float]] = {}
    # As in a server: all spaces share the connections and the model.
    with contextlib.closing(opened(_name(0), "builtin")) as first:
        for number in range(0, spaces, max(1, spaces // ASKED)):
            memory = for_space(first, _name(number))
            recall(memory, "warm up the model and the matrix", Scope())
            for sort, questions in sorts.items():
                for text, scope in questions:
                    began = time.perf_counter()
                    recall(memory, text, scope)
                    taken.setdefault(sort, []).append(time.perf_counter() - began)
    taken["all of them"] = [second for seconds in taken.values() for second in seconds]
    return [
        (f"{sort}, one of {spaces:,} spaces", f"{statistics.median(seconds) * 1000:.1f} ms", "")
        for sort, seconds in taken.items()
    ]


def _name(number: int) -> str:
    return f"space-{number}"
