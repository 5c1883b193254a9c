"""Saving what can be read of a damaged file: row by row into a new one, around the places that cannot be read.

Each table is read in two ways. SQLite reads it along its tree, and goes on beyond pages that it refuses. Then its pages
are read one by one without SQLite (damaged_page_reader.py), also those that nothing leads to any more. A repair
rebuilds what is derived afterwards.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from commonplace.errors import StoreBusy, StoreCorrupt, StoreError
from commonplace.model import KINDS, SOURCE_FIELDS, VALIDITY_FIELDS, new_uid
from commonplace.store.damaged_values import STATUSES, DamagedText, content_checksum, nearest, shown
from commonplace.store.rows import item_before, item_of
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.damaged_page_reader import Pages, Row, open_pages, schema
from commonplace.store.sqlite.database import Database
from commonplace.store.sqlite.encryption_and_copies import LOG_ENDS, READ_ONLY, connect, is_plain
from commonplace.store.sqlite.file_errors import translated
from commonplace.store.sqlite.migrate import migrate, recognise, version_of
from commonplace.store.sqlite.orphan_pages import Table, orphans, tables_of
from commonplace.store.sqlite.replaced_file_detection import folder_lock
from commonplace.store.sqlite.restore import assign_new_identity, exclusive, replace_store
from commonplace.text.dates import clamp_time

_LAST_ROW = 2**62
# So many numbers are tried one by one after a row that cannot be read.
_NEAR = 500
# What people and agents said. A row of these that clashes with another is kept beside it; of others it is dropped.
_SAID = frozenset({"projects", "sessions", "items", "history", "session_history", "streams", "keys"})
# How rows of these are called, and which columns of other tables name them.
_NAMED = {
    "items": ("item", (("records", "id", "what = 'item'"), ("passages", "item_id", "1"), ("history", "item_id", "1"))),
    "sessions": ("session", (("records", "id", "what = 'session'"), ("items", "session_id", "1"))),
    "projects": ("project", (("records", "id", "what = 'project'"), ("items", "project_id", "1"))),
}
_CHOICES: Mapping[tuple[str, str], tuple[Sequence[str], str]] = {
    ("items", "kind"): (KINDS, "memory"),
    ("items", "status"): (STATUSES, "active"),
    ("sessions", "status"): (STATUSES, "active"),
    ("streams", "status"): (("open", "finalized", "cancelled"), "open"),
}
_ITEM_COLUMNS = (
    *("importance", "status", "tokens", "created_ms", "updated_ms", "rev", "forgotten_ms", "superseded_by"),
    "content_hash",
)
_NEWER_COLUMNS = (*VALIDITY_FIELDS, *SOURCE_FIELDS)
Values = tuple[Any, ...]


@dataclass(slots=True)
class Recovered:
    """How many rows of each table were saved, which could not be, and which had to be changed to be kept."""

    rows: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Numbers between which SQLite could read nothing."""

    table: str
    first: int
    last: int | None


def recover(path: Path, aside: Path, key: str, busy_ms: int) -> Recovered:
    """Copy every row that can be read into a new file, which takes the place of the damaged one, kept aside.

    StoreCorrupt if it has no row of ours, StoreBusy if another process has it open.
    """
    with folder_lock(path, busy_ms / 1000):
        return _recover(path, aside, key, busy_ms)


def _recover(path: Path, aside: Path, key: str, busy_ms: int) -> Recovered:
    done = Recovered()
    fresh = path.with_name(f"{path.name}.recovered")
    for left in (fresh, *(fresh.with_name(fresh.name + end) for end in LOG_ENDS)):
        left.unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        _be_alone(path, key, busy_ms)
        damaged, pages = _opened(stack, path, key, busy_ms)
        visited: set[int] = set()
        roots = {} if pages is None else schema(pages, visited)
        target = Database(fresh, key=key, recognise=recognise, watched=False)
        try:
            migrate(target, _version(damaged, pages, roots))
            with translated(fresh), _unguarded(target) as copy:
                copier = _Copier(copy, done)
                copier.copy_all(damaged, pages, roots, visited)
                if not any(done.rows[table] for table in (*_NAMED, "spaces")):
                    raise StoreCorrupt(f"The file {path} has no rows of a Commonplace store.", "Restore a backup.")
                assign_new_identity(copy)
        finally:
            target.close()
            if not any(done.rows.values()):
                fresh.unlink(missing_ok=True)
    replace_store(path, fresh, aside)
    return done


def _opened(
    stack: contextlib.ExitStack, path: Path, key: str, busy_ms: int
) -> tuple[SqliteConnection | None, Pages | None]:
    """The file as SQLite reads it, if it does, and its pages, if they can be had."""
    damaged: SqliteConnection | None = None
    with contextlib.suppress(apsw.Error, StoreError):
        connection = stack.enter_context(contextlib.closing(connect(path, key, READ_ONLY)))
        connection.set_busy_timeout(busy_ms)
        # A schema that is damaged in places is taken as far as it goes.
        connection.pragma("writable_schema", True)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        damaged = connection
    pages = None
    if not key or is_plain(path):
        pages, files = open_pages(path)
        for file in files:
            stack.callback(file.close)
    elif damaged is not None:
        with contextlib.suppress(apsw.Error, ValueError, MemoryError):
            # Only SQLite has the key: it gives the pages as they are without it, empty where it cannot.
            pages = Pages(io.BytesIO(damaged.serialize("main")))
    return damaged, pages


def _be_alone(path: Path, key: str, busy_ms: int) -> None:
    """StoreBusy if another process has the file open; a file that SQLite does not open, nobody has."""
    try:
        with translated(path), exclusive(path, key, busy_ms):
            pass
    except StoreBusy:
        raise
    except StoreError:
        return


def _version(damaged: SqliteConnection | None, pages: Pages | None, roots: Mapping[tuple[str, str], int]) -> int | None:
    """Which version of the schema the file has; None for the newest."""
    stated_version = None
    with contextlib.suppress(apsw.Error):
        stated_version = None if damaged is None else int(damaged.pragma("user_version"))
    if stated_version is None and pages is not None:
        stated_version = int.from_bytes(pages.page(1)[60:64])
    return version_of({name for kind, name in roots if kind == "table"}, stated_version)


@contextlib.contextmanager
def _unguarded(target: Database) -> Iterator[SqliteConnection]:
    """A transaction in which rows are as they were: no trigger counts them again, and what they name may be lost."""
    connection = target.connection()
    connection.pragma("foreign_keys", False)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    with target.write() as connection:
        yield connection


class _Copier:
    """Writes rows into the new file, each once."""

    def __init__(self, copy: SqliteConnection, done: Recovered) -> None:
        self._copy, self._done = copy, done
        self._tables = tables_of(copy)
        # By table and key: which way a row was read, and a hash of it.
        self._seen: dict[str, dict[Any, tuple[str, int]]] = {name: {} for name in self._tables}
        self._gaps: list[_Gap] = []
        # Items that had to be changed, as they were, and whether that was their content.
        self._repaired: list[tuple[Values, bool]] = []
        # What the new file has from the start, such as its first space, is that of the damaged one.
        for name in self._tables:
            copy.execute(f"DELETE FROM {name}")

    def copy_all(
        self,
        damaged: SqliteConnection | None,
        pages: Pages | None,
        roots: Mapping[tuple[str, str], int],
        visited: set[int],
    ) -> None:
        for table in self._tables.values():
            if damaged is not None:
                for number, values in self._by_sql(damaged, table):
                    self._put(table, number, values, "sql")
        if pages is not None:
            for (kind, name), root in roots.items():
                table_ = self._tables.get(name) if kind == "table" else None
                for page in pages.tree(root, visited):
                    for row in () if table_ is None else pages.rows(page):
                        self._put_row(table_, row)
            known = {name for kind, name in roots if kind == "table"}
            for table, row in orphans(pages, visited, self._tables, known, self._read):
                self._put_row(table, row)
        self._keep_numbers(damaged)
        self._write_history()
        for name in self._tables:
            self._done.rows[name] = int(self._copy.value(f"SELECT count(*) FROM {name}"))
        self._name_lost()

    def _read(self, question: str, *bindings: object) -> list[Values]:
        return self._copy.rows(question, bindings)

    # Reading with SQLite.

    def _by_sql(self, damaged: SqliteConnection, table: Table) -> Iterator[tuple[int | None, Values]]:
        listed = ", ".join(map(_typed, table.columns))
        reader = self._by_number if table.has_number else self._around
        with contextlib.suppress(apsw.Error, UnicodeDecodeError):
            yield from reader(damaged, table, listed)

    def _by_number(self, damaged: SqliteConnection, table: Table, listed: str) -> Iterator[tuple[int | None, Values]]:
        question = f"SELECT rowid, {listed} FROM {table.name} WHERE rowid >= ? ORDER BY rowid"
        start: int | None = -_LAST_ROW
        while start is not None:
            last = start - 1
            try:
                for row in damaged.execute(question, (start,)):
                    last = max(last, row[0])
                    yield row[0], _decoded(row[1:])
                return
            except apsw.SQLError:
                # A table, or a column of it, that the damaged schema does not name.
                return
            except apsw.Error:
                start = _next_readable(damaged, f"{question} LIMIT 1", last + 1)
                self._gaps.append(_Gap(table.name, last + 1, None if start is None else start - 1))
                end = last + 1 + _NEAR if start is None else min(start, last + 1 + _NEAR)
                for number in range(max(last + 1, 1), end):
                    values = _in_parts(damaged, table, number)
                    if values is not None:
                        yield number, values

    def _around(self, damaged: SqliteConnection, table: Table, listed: str) -> Iterator[tuple[int | None, Values]]:
        """A table that has no numbers: forward to what cannot be read, backward to it, and by its other indexes."""
        keys = ", ".join(table.keys)
        indexes = [row[1] for row in damaged.rows(f"PRAGMA index_list({table.name})") if row[3] == "c"]
        ways = (
            f"ORDER BY {keys}",
            f"ORDER BY {keys.replace(',', ' DESC,')} DESC",
            *(f"INDEXED BY {index}" for index in indexes),
        )
        for way in ways:
            try:
                # INDEXED BY stands before ORDER BY, and has none.
                for row in damaged.execute(f"SELECT {listed} FROM {table.name} {way}"):
                    yield None, _decoded(row)
                return
            except apsw.Error:
                continue

    # Writing.

    def _put_row(self, table: Table | None, row: Row) -> None:
        """Write a row as it stands on a page."""
        values = None if table is None else table.arranged(row)
        if table is not None and values is not None:
            self._put(table, row.number, values, "pages")

    def _put(self, table: Table, number: int | None, values: Values, way: str) -> None:
        """Write a row, unless it was written before. One that another has the place of is kept beside it."""
        identity = number if table.has_number else tuple(values[table.columns.index(key)] for key in table.keys)
        mark = (way, hash(values))
        seen = self._seen[table.name]
        before = seen.get(identity)
        if before is not None and (before == mark or before[0] != way):
            return
        fitted = self._fitted(table, values)
        if before is None:
            seen[identity] = mark
        try:
            self._insert(table, fitted)
        except (apsw.ConstraintError, apsw.MismatchError) as error:
            self._insert_apart(table, fitted, error)

    def _insert(self, table: Table, values: Values) -> None:
        places = ", ".join(map(_place, values))
        statement = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({places})"
        self._copy.execute(statement, tuple(map(_binding, values)))

    def _fitted(self, table: Table, values: Values) -> Values:
        """A row as the table takes it. What has to be changed for that is said, and kept in its history."""
        values_left, changed = [], []
        row = dict(zip(table.columns, values, strict=True))
        for column, value in row.items():
            fit = table.fitted(column, value)
            if choice := _CHOICES.get((table.name, column)):
                fit = nearest(str(fit), *choice)
            if fit is not value and fit != value:
                changed.append(f"{column} was {shown(value)!r}, is {shown(fit)!r}")
            values_left.append(fit)
        fields = dict(zip(table.columns, values_left, strict=True))
        if table.name == "items":
            fields["uid"] = fields["uid"] or new_uid(clamp_time(fields["created_ms"]))
            fields["content_hash"] = fields["content_hash"] or _hash(f"damaged {fields['id']}")
        if changed and table.name in _SAID:
            name = _NAMED[table.name][0] if table.name in _NAMED else table.name
            self._done.changed.append(f"{name} {row.get('id', '')}: {'; '.join(changed)}")
            if table.name == "items":
                content = any(line.startswith(("title ", "body ", "details ")) for line in changed)
                self._repaired.append((_as_item(row), content))
        return tuple(fields.values())

    def _insert_apart(self, table: Table, values: Values, error: apsw.Error) -> None:
        """Keep a row whose number or name another has: under the next number, told apart by it."""
        if table.name not in _SAID:
            return
        row = dict(zip(table.columns, values, strict=True))
        was = row["id"]
        if table.has_number:
            top = f"SELECT max((SELECT coalesce(max(id), 0) FROM {table.name}), coalesce(max(seq), 0)) + 1"
            row["id"] = self._copy.value(f"{top} FROM sqlite_sequence WHERE name = ?", (table.name,))
        if "uid" in row:
            row["uid"] = new_uid(clamp_time(row.get("created_ms") or row.get("started_ms") or 0))
        for column in {"projects": ("name",), "sessions": ("key",)}.get(table.name, ()):
            row[column] = f"{row[column]} ({row['id']})"
        if table.name == "items":
            row["content_hash"] = hashlib.sha256(row["content_hash"] + row["uid"].encode()).digest()
        name = _NAMED[table.name][0] if table.name in _NAMED else table.name
        try:
            self._insert(table, tuple(row.values()))
            self._done.changed.append(f"{name} {was}: another row has its place; kept as {name} {row['id']}")
        except (apsw.ConstraintError, apsw.MismatchError):
            self._done.lost.append(f"{name} {was}: {error}")

    def _write_history(self) -> None:
        """What was found in items that had to be changed, as a line of their history."""
        for row, content in self._repaired:
            item = item_of(row)
            number = item.id
            before = json.dumps(item_before(item), ensure_ascii=False)
            self._copy.execute(
                "INSERT INTO history (space_id, item_id, rev, op, at_ms, before)"
                " SELECT space_id, id, rev, 'repair', updated_ms, ? FROM items WHERE id = ?",
                (before, number),
            )
            self._copy.execute("UPDATE items SET rev = rev + 1 WHERE id = ?", (number,))
            if content:
                self._sum(number)

    def _sum(self, number: int) -> None:
        """The checksum of an item whose content had to be changed, where the schema has one."""
        if "checksum" in self._tables["items"].columns:
            question = "SELECT CAST(title AS BLOB), CAST(body AS BLOB), CAST(details AS BLOB) FROM items WHERE id = ?"
            content = self._copy.first(question, (number,))
            if content is not None:
                self._copy.execute("UPDATE items SET checksum = ? WHERE id = ?", (content_checksum(*content), number))

    def _keep_numbers(self, damaged: SqliteConnection | None) -> None:
        """Numbers of rows that were lost are not given to others."""
        if damaged is not None:
            with contextlib.suppress(apsw.Error, UnicodeDecodeError):
                for name, last in damaged.execute("SELECT name, seq FROM sqlite_sequence"):
                    if name in self._tables and isinstance(last, int) and 0 < last < _LAST_ROW:
                        self._copy.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, name))

    def _name_lost(self) -> None:
        """Rows that others name and that are not there, by their numbers, and stretches that nobody could read."""
        for table, (name, namers) in _NAMED.items():
            named = " UNION ".join(
                f"SELECT {column} AS id FROM {other} WHERE {condition} AND {column} IS NOT NULL"
                for other, column, condition in namers
                if other in self._tables
            )
            missing = self._copy.rows(f"SELECT id FROM ({named}) EXCEPT SELECT id FROM {table} ORDER BY 1")
            self._done.lost += [f"{name} {number}" for (number,) in missing]
        for gap in self._gaps:
            last = _LAST_ROW if gap.last is None else gap.last
            question = f"SELECT EXISTS (SELECT 1 FROM {gap.table} WHERE rowid BETWEEN ? AND ?)"
            if gap.table in _SAID - set(_NAMED) and not self._copy.value(question, (gap.first, last)):
                until = "the end" if gap.last is None else str(gap.last)
                self._done.lost.append(f"{gap.table}: rows {max(gap.first, 1)} to {until}")


def _as_item(row: Mapping[str, Any]) -> Values:
    """A row of items in the order in which items are read (rows.py), as it was found."""
    names = ("id", "uid", "kind", "type", "title", "body", "details", "meta")
    known = (*(row[name] for name in names), None, None, None, *(row[name] for name in _ITEM_COLUMNS))
    # Files of earlier versions do not have all of them.
    return (*known, *(row.get(name) for name in _NEWER_COLUMNS))


def _place(value: object) -> str:
    """Where a value goes in a statement; damaged text is compared by its bytes."""
    return "CAST(? AS TEXT)" if isinstance(value, DamagedText) else "?"


def _binding(value: Any) -> Any:
    return value.raw if isinstance(value, DamagedText) else value


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _typed(name: str) -> str:
    """A column as `_decoded` takes it: texts as bytes, and the type of each."""
    return f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name}), typeof({name})"


def _decoded(row: Sequence[Any]) -> Values:
    """Values that were read as bytes, each followed by its type."""
    return tuple(_text(value) if kind == "text" else value for value, kind in zip(row[::2], row[1::2], strict=True))


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return DamagedText(value)


def _in_parts(damaged: SqliteConnection, table: Table, number: int) -> Values | None:
    """A row that SQLite refuses as a whole, column by column; None if it is not there, or nothing of it can be read."""
    found: dict[str, Any] = {}
    for name in table.columns:
        with contextlib.suppress(apsw.Error):
            question = f"SELECT {_typed(name)} FROM {table.name} WHERE rowid = ?"
            for row in damaged.execute(question, (number,)).fetchall():
                found[name] = _decoded(row)[0]
    if not found.keys() - {table.number}:
        return None
    return tuple(found.get(name) for name in table.columns)


def _next_readable(damaged: SqliteConnection, question: str, after: int) -> int | None:
    """The first row beyond a damaged place: found by ever longer steps, then between the last two."""

    def reads(start: int) -> bool | None:
        """Whether there is a row from here on that can be read; None if there is none at all."""
        try:
            return bool(damaged.execute(question, (start,)).fetchall()) or None
        except apsw.Error:
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
