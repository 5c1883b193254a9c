"""A connection to PostgreSQL, and how it translates the shared statements, which are written as SQLite reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg

from commonplace.store.postgres.fulltext_rows import PostgresFullTextRows, delete_rows
from commonplace.store.sql.connection import Bindings, Columns, Connection, Ids, Rows

# In this order. A parameter is `?`, `?1` or `:name`.
_PARAMETER = r"(\?\d*|:\w+)"
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"/\*pg (.*?)\*/", r"\1"),
        (r"%", "%%"),
        # Joins in the order in which they are written, indexes that have to be used or left alone.
        (r"\bCROSS JOIN\b", "JOIN"),
        (r" (?:INDEXED BY \w+|NOT INDEXED)", ""),
        (r"(?<=[\s(])\+(?=[a-z])", ""),
        # Lists.
        (rf"\bNOT IN \(SELECT value FROM json_each\({_PARAMETER}\)\)", r"<> ALL(\1)"),
        (rf"\bIN \(SELECT value FROM json_each\({_PARAMETER}\)\)", r"= ANY(\1)"),
        (rf"\bIN \(SELECT unhex\(value\) FROM json_each\({_PARAMETER}\)\)", r"= ANY(\1::bytea[])"),
        (rf"\bjson_each\({_PARAMETER}\) (\w+)", r"unnest(\1::bigint[]) WITH ORDINALITY \2(value, key)"),
        (r"\bjson_group_array\(", "array_agg("),
        # Functions.
        (r"\bjson_extract\(iif\(json_valid\(([\w.]+)\), \1, '{}'\), '\$\.(\w+)'\)", r"(\1::json ->> '\2')"),
        (r"\bsubstr\(([\w.]+), -(\d+)\)", r"right(\1, \2)"),
        (r"\binstr\(", "strpos("),
        (r"\bmax\((\?|[\w.]+), ", r"greatest(\1, "),
        (r"\bmin\((\?|[\w.]+), ", r"least(\1, "),
        # SQLite's LIKE does not tell capital letters from small ones.
        (r"\bLIKE\b", "ILIKE"),
        (r"\bGLOB '\*(\[[^\]]*\])\*'", r"~ '\1'"),
        # Parameters.
        (r"\?(\d+)", r"%(\1)s"),
        (r"\?", "%s"),
        (r"(?<![:\w]):([a-z]\w*)", r"%(\1)s"),
    )
)


@lru_cache(maxsize=2_000)
def translate(sql: str) -> str:
    """A shared statement in PostgreSQL's words."""
    for pattern, replacement in _RULES:
        sql = pattern.sub(replacement, sql)
    return sql


class PostgresConnection(Connection, psycopg.Connection[tuple[Any, ...]]):
    """What `Connection` promises, and psycopg's own methods for statements in PostgreSQL's words."""

    has_checksums = False
    skip_locked = "FOR UPDATE SKIP LOCKED"

    def rows(self, sql: str, bindings: Bindings = (), *, prepared: bool = False, binary: bool = False) -> list[Any]:
        return self.native_rows(translate(sql), _named(sql, bindings), prepared=prepared, binary=binary)

    def native_rows(
        self, sql: str, bindings: Bindings = (), *, prepared: bool = False, binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement in PostgreSQL's own words."""
        return self.execute(sql, bindings, binary=binary, prepare=prepared).fetchall()

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
        yield from self.execute(translate(sql), _named(sql, bindings))

    def run(self, sql: str, bindings: Bindings = ()) -> int:
        return self.execute(translate(sql), _named(sql, bindings)).rowcount

    def run_all(self, sql: str, many: Sequence[Bindings]) -> None:
        if many:
            with self.cursor() as cursor:
                cursor.executemany(translate(sql), [_named(sql, bindings) for bindings in many])

    def insert(self, sql: str, bindings: Bindings) -> int | None:
        row = self.first(f"{sql} RETURNING id", bindings)
        return None if row is None else int(row[0])

    def insert_all(self, table: str, columns: Columns, rows: Rows, *, key: Sequence[str], conflict: str = "") -> Ids:
        if not rows:
            return []
        statement = _insert_statement(table, tuple(columns.items()), ", ".join(key), conflict)
        made = {
            tuple(names): int(id_) for id_, *names in self.execute(statement, [*map(list, zip(*rows, strict=True))])
        }
        places = [[*columns].index(name) for name in key]
        return [made.pop(tuple(row[place] for place in places), None) for row in rows]

    def add_rows(self, space_id: int, insert: str, types: Sequence[str], rows: Rows, conflict: str) -> None:
        if rows:
            arrays = ", ".join(f"%s::{type_}[]" for type_ in types)
            statement = f"{translate(insert)} SELECT {space_id}, * FROM unnest({arrays}) {translate(conflict)}"
            self.execute(statement, [*map(list, zip(*rows, strict=True))])

    def array(self, values: Iterable[Any]) -> Any:
        """Numbers as the server writes them: a list of hundreds takes longer to bind than its rows take to be found."""
        listed = list(values)
        return "{" + ",".join(map(str, listed)) + "}" if not listed or isinstance(listed[0], int) else listed

    def as_json(self, value: object) -> str:
        """As the database can read it: PostgreSQL has no NUL characters, also not spelled as JSON does."""
        text = super().as_json(value)
        return re.sub(r"(\\\\)|\\u0000", lambda found: found[1] or "\ufffd", text) if "\\u0000" in text else text

    def _setting_key(self, space_id: int, name: str) -> Mapping[str, object]:
        return {"space_id": space_id, "key": name}

    def database_size(self) -> int:
        return int(self.value("SELECT pg_database_size(current_database())"))

    def fulltext_rows(self, space_id: int) -> PostgresFullTextRows:
        return PostgresFullTextRows(self, space_id)

    def delete_fulltext(self, space_id: int, rowids: Sequence[int]) -> None:
        delete_rows(self, space_id, rowids)


def _named(sql: str, bindings: Bindings) -> Bindings:
    """Bindings of a statement; those of numbered parameters by their numbers."""
    if isinstance(bindings, Mapping) or "?1" not in sql:
        return bindings
    return {str(number): value for number, value in enumerate(bindings, 1)}


@lru_cache(maxsize=100)
def _insert_statement(table: str, columns: tuple[tuple[str, str], ...], key: str, conflict: str) -> str:
    names = ", ".join(name for name, _type in columns)
    arrays = ", ".join(f"%s::{type_}[]" for _name, type_ in columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {names} FROM unnest({arrays}) WITH ORDINALITY AS new ({names}, place)"
        f" ORDER BY place {conflict} RETURNING id, {key}"
    )
