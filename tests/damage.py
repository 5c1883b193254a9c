"""Damage in a store's file: values that SQLite itself would refuse, written into one row."""

from __future__ import annotations

import contextlib
from pathlib import Path

import apsw

# What a bit flip or a bad disk may leave in a column, as SQL.
INVALID_UTF8 = "CAST(x'4170706c65ff20c328' AS TEXT)"


def damage_row(path: Path, table: str, id_: int, column: str, value: str, key: str = "id") -> None:
    """Put a value, given as SQL, into a column of one row, past its type, constraints and triggers."""
    with contextlib.closing(apsw.Connection(str(path))) as file:
        whole = file.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchall()[0][0]
        assert isinstance(whole, str)
        _write_schema(file, table, whole.replace("NOT NULL", "").replace("STRICT", "").rstrip().rstrip(","))
    with contextlib.closing(apsw.Connection(str(path))) as file:
        file.pragma("ignore_check_constraints", True)
        file.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        file.execute(f"UPDATE {table} SET {column} = {value} WHERE {key} = ?", (id_,))
        assert file.changes() == 1
        _write_schema(file, table, whole)


def _write_schema(file: apsw.Connection, table: str, sql: str) -> None:
    file.pragma("writable_schema", True)
    file.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
    file.pragma("schema_version", int(file.pragma("schema_version")) + 1)
    file.pragma("writable_schema", False)
