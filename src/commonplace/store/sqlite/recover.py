"""Saving what can be read of a damaged file: row by row into a new one, around the places that cannot be read.

What somebody said comes first; words are indexed anew, and what else is derived is put right by a repair.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from commonplace.errors import StoreCorrupt
from commonplace.store.sqlite import sql
from commonplace.store.sqlite.copies import alone, another, take_place
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.files import LOG_ENDS, READ_ONLY, connect
from commonplace.store.sqlite.migrate import migrate, migrations, recognise
from commonplace.store.sqlite.refusals import translated

# What SQLite and FTS5 keep for themselves, and what is not copied because it is made anew.
_OWN_TABLES = "name NOT LIKE 'sqlite_%' AND name NOT LIKE 'passages_fts%'"
_LAST_ROW = 2**62
_UNREADABLE = (apsw.CorruptError, apsw.IOError, apsw.NotADBError, apsw.FullError)

Row = tuple[Any, ...]


@dataclass(slots=True)
class Recovered:
    """How many rows of each table were read, and which could not be."""

    rows: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


def recover(path: Path, aside: Path, key: str, busy_ms: int) -> Recovered:
    """Copy every row that can be read into a new file, which takes the place of the damaged one, kept aside.

    StoreCorrupt if not even its tables can be told, StoreBusy if another process has it open.
    """
    done = Recovered()
    fresh = path.with_name(f"{path.name}.recovered")
    for left in (fresh, *(fresh.with_name(fresh.name + end) for end in LOG_ENDS)):
        left.unlink(missing_ok=True)
    with translated(path), contextlib.closing(connect(path, key, READ_ONLY)) as damaged:
        damaged.set_busy_timeout(busy_ms)
        if damaged.pragma("user_version") != migrations()[-1][0]:
            raise StoreCorrupt(f"The damaged file {path} is of another version.", "Restore a backup of it.")
        target = Database(fresh, key=key, recognise=recognise)
        try:
            migrate(target)
            with _unguarded(target) as copy:
                for table in _tables(copy):
                    _copy_table(damaged, copy, table, done)
                _keep_numbers(damaged, copy)
                another(copy)
        finally:
            target.close()
    with translated(path), contextlib.suppress(apsw.CorruptError), alone(path, key, busy_ms):
        pass
    take_place(path, fresh, aside)
    return done


@contextlib.contextmanager
def _unguarded(target: Database) -> Iterator[apsw.Connection]:
    """A transaction in which rows are as they were: no trigger counts them again, and what they name may be lost."""
    connection = target.connection()
    connection.pragma("foreign_keys", False)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    with target.write() as connection:
        yield connection


def _tables(connection: apsw.Connection) -> list[str]:
    question = f"SELECT name FROM sqlite_schema WHERE type = 'table' AND {_OWN_TABLES} ORDER BY rowid"
    return [row[0] for row in sql.rows(connection, question)]


def _copy_table(damaged: apsw.Connection, copy: apsw.Connection, table: str, done: Recovered) -> None:
    columns = [row[1] for row in sql.rows(copy, f"PRAGMA table_info({table})")]
    listed = ", ".join(columns)
    insert = f"INSERT OR REPLACE INTO {table} ({listed}) VALUES ({', '.join('?' * len(columns))})"
    has_rowid = "WITHOUT ROWID" not in str(sql.value(copy, "SELECT sql FROM sqlite_schema WHERE name = ?", (table,)))
    reader = _by_rowid if has_rowid else _around
    for row in reader(damaged, table, listed, done.lost):
        try:
            copy.execute(insert, row)
        except (apsw.ConstraintError, apsw.MismatchError):
            done.lost.append(f"{table}: a row that makes no sense")
    done.rows[table] = int(sql.value(copy, f"SELECT count(*) FROM {table}"))


def _keep_numbers(damaged: apsw.Connection, copy: apsw.Connection) -> None:
    """Numbers of rows that were lost are not given to others."""
    with contextlib.suppress(*_UNREADABLE):
        for name, last in damaged.execute("SELECT name, seq FROM sqlite_sequence"):
            copy.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, name))


def _by_rowid(damaged: apsw.Connection, table: str, listed: str, lost: list[str]) -> Iterator[Row]:
    question = f"SELECT rowid, {listed} FROM {table} WHERE rowid >= ? ORDER BY rowid"
    start: int | None = -_LAST_ROW
    while start is not None:
        last = start - 1
        try:
            for row in damaged.execute(question, (start,)):
                last = row[0]
                yield row[1:]
            return
        except _UNREADABLE:
            start = _next_readable(damaged, f"{question} LIMIT 1", last + 1)
            until = "the end" if start is None else str(start - 1)
            lost.append(f"{table}: rows {max(last + 1, 1)} to {until}")


def _next_readable(damaged: apsw.Connection, question: str, after: int) -> int | None:
    """The first row beyond a damaged place: found by ever longer steps, then between the last two."""

    def reads(start: int) -> bool | None:
        """Whether there is a row from here on that can be read; None if there is none at all."""
        try:
            return bool(damaged.execute(question, (start,)).fetchall()) or None
        except _UNREADABLE:
            return False

    step, low = 1, after
    while (state := reads(low + step)) is False:
        step *= 2
        if low + step > _LAST_ROW:
            return None
    if state is None and step == 1:
        return None
    low, high = low + step // 2, low + step
    while low + 1 < high:
        middle = (low + high) // 2
        if reads(middle) is False:
            low = middle
        else:
            high = middle
    return high if reads(high) else None


def _around(damaged: apsw.Connection, table: str, listed: str, lost: list[str]) -> Iterator[Row]:
    """A table that has no numbers: forward to what cannot be read, backward to it, and by its other indexes."""
    keys = ", ".join(row[1] for row in sql.rows(damaged, f"PRAGMA table_info({table})") if row[5])
    indexes = [row[1] for row in sql.rows(damaged, f"PRAGMA index_list({table})") if row[3] == "c"]
    ways = (f"ORDER BY {keys}", f"ORDER BY {keys.replace(',', ' DESC,')} DESC", *(f"INDEXED BY {i}" for i in indexes))
    for way in ways:
        try:
            yield from damaged.execute(f"SELECT {listed} FROM {table} {way}")
            return
        except (*_UNREADABLE, apsw.SQLError):
            continue
    lost.append(f"{table}: some rows in the midst")
