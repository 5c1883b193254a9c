"""Saving a damaged file: every row that SQLite can still read goes into a new file, which takes its place.

Each table is read from its beginning. Beyond a damaged place its rows are tried by their numbers until one can be read
again, and at last it is read from its end. What is derived is rebuilt by a repair afterwards.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from commonplace.errors import StoreBusy, StoreCorrupt, StoreError
from commonplace.model import KINDS, new_uid
from commonplace.store.damaged_values import STATUSES, nearest, shown
from commonplace.store.records import separate_hash
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.encryption_and_copies import LOG_ENDS, READ_ONLY, connect
from commonplace.store.sqlite.file_errors import translated
from commonplace.store.sqlite.migrate import migrate, migrations, recognise
from commonplace.store.sqlite.replaced_file_detection import folder_lock
from commonplace.store.sqlite.restore import assign_new_identity, exclusive, replace_store

# How many numbers are tried one by one beyond a damaged place, before the table is read from its end.
MOST_TRIED = 10_000
_LAST_NUMBER = 2**62
# What SQLite and FTS5 keep for themselves, and what is not copied because it is made anew.
_OUR_TABLES = (
    "SELECT name, sql FROM sqlite_schema"
    " WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'passages_fts%'"
)
_EMPTY = {"INTEGER": "0", "TEXT": "''", "REAL": "0.0", "BLOB": "x''"}
# The tables of what people and agents said, and what one of their rows is called. If another row has the name or number
# of one of these, it is kept beside that; a row of any other table is left out then.
_SAID = {"items": "item", "sessions": "session", "projects": "project", "history": "history", "keys": "key"}
_SAID |= {"session_history": "session_history", "streams": "streams"}
# Columns that no two rows may share, of which one that clashes gets another.
_NAMES = {"projects": "name", "sessions": "key"}
# Columns that take only these words, and which one stands for a word that is near none of them.
_CHOICES = (
    ("items", "kind", KINDS, "memory"),
    ("items", "status", STATUSES, "active"),
    ("sessions", "status", STATUSES, "active"),
    ("streams", "status", ("open", "finalized", "cancelled"), "open"),
)
# Where else the numbers of rows stand: by them one is known that could not be saved.
_NAMED_BY = {
    "items": ("item_id FROM passages", "item_id FROM history", "id FROM records WHERE what = 'item'"),
    "sessions": ("session_id FROM items", "session_id FROM session_history", "id FROM records WHERE what = 'session'"),
    "projects": ("project_id FROM items", "project_id FROM sessions", "id FROM records WHERE what = 'project'"),
}
_NOTHING_LEFT = (
    "Restore the last backup: `commonplace backup restore latest` keeps the damaged file beside it. If there is no"
    " backup, move the file away: the next command begins a new store."
)
Values = tuple[Any, ...]


@dataclass(slots=True)
class Recovered:
    """How many rows of each table were saved, which could not be, and which had to be changed to be kept."""

    rows: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def recover(path: Path, aside: Path, key: str, busy_ms: int) -> Recovered:
    """Copy every row that can be read into a new file, which takes the place of the damaged one, kept aside.

    StoreCorrupt if no row of ours can be read, StoreBusy if another process has it open.
    """
    fresh = path.with_name(f"{path.name}.recovered")
    with folder_lock(path, busy_ms / 1000):
        _be_alone(path, key, busy_ms)
        for left in (fresh, *(fresh.with_name(fresh.name + end) for end in LOG_ENDS)):
            left.unlink(missing_ok=True)
        try:
            done = _copy_into(fresh, path, key, busy_ms)
            if not any(done.rows.get(table) for table in (*_NAMED_BY, "spaces")):
                raise StoreCorrupt(f"SQLite cannot read any memory of the file {path}.", _NOTHING_LEFT)
            replace_store(path, fresh, aside)
        finally:
            fresh.unlink(missing_ok=True)
    return done


def _be_alone(path: Path, key: str, busy_ms: int) -> None:
    """StoreBusy if another process has the file open; nobody has one that SQLite does not open."""
    try:
        with translated(path), exclusive(path, key, busy_ms):
            pass
    except StoreBusy:
        raise
    except StoreError:
        return


def _copy_into(fresh: Path, path: Path, key: str, busy_ms: int) -> Recovered:
    done = Recovered()
    with contextlib.closing(connect(path, key, READ_ONLY)) as damaged:
        damaged.set_busy_timeout(busy_ms)
        try:
            # A schema that is damaged in places is taken as far as it goes.
            damaged.pragma("writable_schema", True)
            version = int(damaged.pragma("user_version"))
            damaged.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except apsw.Error:
            return done
        target = Database(fresh, key=key, recognise=recognise, watched=False)
        try:
            _make_tables(target, damaged, version)
            with translated(fresh), _unguarded(target) as copy:
                tables = copy.rows(f"{_OUR_TABLES} ORDER BY rowid")
                # What the new file has from the start, such as its first space, is that of the damaged one.
                for name, _made in tables:
                    copy.execute(f"DELETE FROM {name}")
                for name, made in tables:
                    table = Table(copy, name, made)
                    _copy_table(damaged, copy, table, done)
                    _name_gaps(copy, table, done)
                    done.rows[name] = int(copy.value(f"SELECT count(*) FROM {name}"))
                _keep_numbers(damaged, copy)
                _correct_choices(copy, done)
                _name_lost(copy, done)
                assign_new_identity(copy)
        finally:
            target.close()
    return done


def _make_tables(target: Database, damaged: SqliteConnection, version: int) -> None:
    """The tables of the version that the damaged file says it has, or of the newest if it has more tables than that."""
    newest = migrations()[-1][0]
    migrate(target, version if 0 < version <= newest else newest)
    with contextlib.suppress(apsw.Error), target.read() as copy:
        made, there = ({row[0] for row in file.execute(_OUR_TABLES)} for file in (copy, damaged))
        if there <= made:
            return
    migrate(target, newest)


@contextlib.contextmanager
def _unguarded(target: Database) -> Iterator[SqliteConnection]:
    """A transaction in which rows are as they were: no trigger counts them again, and what they name may be lost."""
    connection = target.connection()
    connection.pragma("foreign_keys", False)
    connection.pragma("ignore_check_constraints", True)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    with target.write() as connection:
        yield connection


class Table:
    """One of our tables: how its rows are read from a damaged file, and written into a sound one.

    Texts are read and written as bytes, so that those that are not UTF-8 stay as they are. A value of the wrong type is
    converted, and a missing one that is required becomes empty.
    """

    def __init__(self, copy: SqliteConnection, name: str, made: str) -> None:
        self.name = name
        # Between these numbers no row could be read; None is the end of the table.
        self.gaps: list[tuple[int, int | None]] = []
        self.has_number = "WITHOUT ROWID" not in made
        columns = copy.rows(f"PRAGMA table_info({name})")
        self.types = {column[1]: column[2] for column in columns}
        self.required = {column[1] for column in columns if column[3]}
        self.keys = [column[1] for column in sorted(columns, key=lambda column: column[5]) if column[5]]
        self.order = ["rowid"] if self.has_number else self.keys
        self.columns = [f"typeof({c}), iif(typeof({c}) = 'text', CAST({c} AS BLOB), {c})" for c in self.types]
        self.read = f"SELECT {', '.join((*self.order, *self.columns))} FROM {name} NOT INDEXED"
        written = []
        for column, type_, default in ((column[1], column[2], column[4]) for column in columns):
            value = f"CAST(? AS {type_})"
            written.append(f"coalesce({value}, {default or _EMPTY[type_]})" if column in self.required else value)
        self.insert = f"INSERT INTO {name} ({', '.join(self.types)}) VALUES ({', '.join(written)})"

    def rows(self, damaged: SqliteConnection) -> Iterator[Values]:
        """Its rows, each after what tells them apart; some come twice."""
        forward = ", ".join(self.order)
        backward = ", ".join(f"{name} DESC" for name in self.order)
        last = 0
        while self.has_number:
            try:
                for row in damaged.execute(f"{self.read} WHERE rowid > ? ORDER BY rowid", (last,)):
                    last = max(last, row[0])
                    yield row
                return
            except apsw.SQLError:
                # A table, or a column of it, that the damaged schema does not name.
                return
            except apsw.Error:
                # A number that is damaged itself may be less than the one before it.
                beyond = self._next_readable(damaged, last)
                self.gaps.append((last + 1, None if beyond is None else beyond[0] - 1))
                if beyond is None:
                    break
                last = beyond[0]
                yield beyond
        for order in (backward,) if self.has_number else (forward, backward):
            with contextlib.suppress(apsw.Error):
                yield from damaged.execute(f"{self.read} ORDER BY {order}")
                return

    def _next_readable(self, damaged: SqliteConnection, last: int) -> Values | None:
        for number in range(last + 1, last + MOST_TRIED):
            row = self._by_number(damaged, number)
            if row is not None:
                return row
        return None

    def _by_number(self, damaged: SqliteConnection, number: int) -> Values | None:
        """A row as a whole; or, if SQLite refuses that, the columns of it that can be read."""
        with contextlib.suppress(apsw.Error):
            found = damaged.rows(f"{self.read} WHERE rowid = ?", (number,))
            return tuple(found[0]) if found else None
        parts: list[Any] = [number]
        for column in self.columns:
            parts += ("null", None)
            with contextlib.suppress(apsw.Error):
                for type_, value in damaged.rows(
                    f"SELECT {column} FROM {self.name} NOT INDEXED WHERE rowid = ?", (number,)
                ):
                    parts[-2:] = type_, value
        # One that has nothing but its number is on a page that cannot be read.
        return tuple(parts) if sum(type_ != "null" for type_ in parts[1::2]) > 1 else None

    def wrong_types(self, types: Values) -> list[str]:
        """The columns of a row whose values are not of the type that the table takes."""
        found = []
        for (column, wanted), type_ in zip(self.types.items(), types, strict=True):
            is_missing = type_ == "null"
            if column in self.required if is_missing else type_ != wanted.lower():
                found.append(column)
        return found


def _copy_table(damaged: SqliteConnection, copy: SqliteConnection, table: Table, done: Recovered) -> None:
    seen: set[tuple[Values, int]] = set()
    for row in table.rows(damaged):
        identity, types, values = row[: len(table.order)], row[len(table.order) :: 2], row[len(table.order) + 1 :: 2]
        mark = identity, hash(values)
        if mark in seen:
            continue
        seen.add(mark)
        fields = dict(zip(table.types, values, strict=True))
        wrong = table.wrong_types(types)
        if wrong and table.name in _SAID:
            found = ", ".join(f"{column} was {shown(fields[column])!r}" for column in wrong)
            done.changed.append(f"{_SAID[table.name]} {fields.get('id')}: {found}")
        try:
            copy.execute(table.insert, tuple(fields.values()))
        except apsw.ConstraintError as error:
            if table.name in _SAID:
                _insert_apart(copy, table, fields, error, done)


def _insert_apart(
    copy: SqliteConnection, table: Table, fields: dict[str, Any], error: apsw.Error, done: Recovered
) -> None:
    """Keep a row whose number or name another row has: under the next number, and told apart by it."""
    name, number = _SAID[table.name], fields["id"]
    fields["id"] = int(copy.value(f"SELECT coalesce(max(rowid), 0) + 1 FROM {table.name}"))
    uid = new_uid(time.time_ns() // 1_000_000)
    if "uid" in fields:
        fields["uid"] = uid.encode()
    if table.name == "items":
        fields["content_hash"] = separate_hash(fields["content_hash"] or b"", uid)
    if table.name in _NAMES:
        fields[_NAMES[table.name]] += f" ({fields['id']})".encode()
    try:
        copy.execute(table.insert, tuple(fields.values()))
        done.changed.append(f"{name} {number}: another row has its place; kept as {name} {fields['id']}")
    except apsw.ConstraintError:
        done.lost.append(f"{name} {number}: {error}")


def _name_gaps(copy: SqliteConnection, table: Table, done: Recovered) -> None:
    """Stretches of rows that nobody could read, of what no other row names."""
    if table.name not in _SAID or table.name in _NAMED_BY:
        return
    for first, last in table.gaps:
        question = f"SELECT EXISTS (SELECT 1 FROM {table.name} WHERE rowid BETWEEN ? AND ?)"
        if not copy.value(question, (first, _LAST_NUMBER if last is None else last)):
            done.lost.append(f"{table.name}: rows {first} to {last or 'the end'}")


def _keep_numbers(damaged: SqliteConnection, copy: SqliteConnection) -> None:
    """Numbers of rows that were lost are not given to others."""
    with contextlib.suppress(apsw.Error, UnicodeDecodeError):
        for name, last in damaged.execute("SELECT name, seq FROM sqlite_sequence"):
            if isinstance(last, int) and 0 < last < _LAST_NUMBER:
                copy.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, name))


def _correct_choices(copy: SqliteConnection, done: Recovered) -> None:
    """Replace words that a column does not take by the nearest that it does."""
    for table, column, choices, default in _CHOICES:
        others = f"{column} NOT IN ({', '.join('?' * len(choices))})"
        for id_, word in copy.rows(f"SELECT id, {column} FROM {table} WHERE {others}", tuple(choices)):
            choice = nearest(str(word), choices, default)
            copy.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (choice, id_))
            done.changed.append(f"{_SAID[table]} {id_}: {column} was {shown(word)!r}, is {choice!r}")


def _name_lost(copy: SqliteConnection, done: Recovered) -> None:
    """Rows that others name and that are not there, by their numbers."""
    for table, places in _NAMED_BY.items():
        # Files of earlier versions have no records.
        named = " UNION ".join(f"SELECT {place}" for place in places if place.split()[2] in done.rows)
        for (number,) in copy.rows(f"{named} EXCEPT SELECT id FROM {table} ORDER BY 1"):
            if number is not None:
                done.lost.append(f"{_SAID[table]} {number}")
