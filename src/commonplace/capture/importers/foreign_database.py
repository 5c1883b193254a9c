"""A database of another product: read from a copy of our own, so that theirs is never locked and never written.

SQLite writes beside a file that it reads while that file has a write-ahead log, and waits for whoever writes. A copy
of the file together with its log or journal does neither; it is taken again if something changed meanwhile.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import apsw

from commonplace.capture.import_report import MAX_HELD, Entry, Skipped, Stream
from commonplace.capture.importers.json_reader import Element, records
from commonplace.memory.remember import UNSTORABLE

SQLITE_MAGIC = b"SQLite format 3\0"
DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
# What SQLite needs besides the file itself to know what was committed.
_BESIDE = ("", "-wal", "-journal")
_TRIES = 5
_CHUNK = 1 << 20
# What statements of our own need.
_LEAST_CELL = 1 << 16
# Tables that a full-text index keeps beside itself; they say nothing of their own.
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")

Row = Mapping[str, Any]


class UnreadableDatabase(Exception):
    """Why a database, or the rest of it, cannot be read; a part of a sentence."""


@contextmanager
def open_copy(source: Path | Stream, max_held: int = MAX_HELD) -> Iterator[ForeignDatabase]:
    """The database at a path or in a stream, for the length of the block. No cell may have more bytes than that."""
    with TemporaryDirectory(prefix="commonplace-") as folder:
        copy = Path(folder) / "database"
        if isinstance(source, Path):
            _copy(source, copy)
        else:
            with copy.open("wb") as file:
                while part := source.read(_CHUNK):
                    file.write(part)
        with _telling(), closing(apsw.Connection(str(copy))) as connection:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, max(_LEAST_CELL, max_held // 4))
            yield ForeignDatabase(connection)


@contextmanager
def scratch_database() -> Iterator[apsw.Connection]:
    """An empty database for the length of the block; nothing in it has to outlive a crash."""
    with (
        TemporaryDirectory(prefix="commonplace-") as folder,
        _telling(),
        closing(apsw.Connection(str(Path(folder) / "scratch"))) as connection,
    ):
        connection.pragma("journal_mode", "OFF")
        connection.pragma("synchronous", "OFF")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def _copy(path: Path, to: Path) -> None:
    try:
        for _ in range(_TRIES):
            before = _stamps(path)
            size, free = sum(stamp[0] for stamp in before.values()), shutil.disk_usage(gettempdir()).free
            if size > free:
                raise UnreadableDatabase(
                    f"a copy of it needs {size >> 20:,} MB in {gettempdir()}, which has {free >> 20:,}"
                )
            for end in _BESIDE:
                to.with_name(to.name + end).unlink(missing_ok=True)
            for end in before:
                shutil.copyfile(path.with_name(path.name + end), to.with_name(to.name + end))
            if _stamps(path) == before:
                return
    except FileNotFoundError as error:
        raise UnreadableDatabase("it vanished while it was read") from error
    except OSError as error:
        raise UnreadableDatabase(f"it cannot be read: {error.strerror}") from error
    raise UnreadableDatabase("it is being written to all the time; stop its product for a moment")


def _stamps(path: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for end in _BESIDE:
        file = path.with_name(path.name + end)
        if not end or file.exists():
            status = file.stat()
            found[end] = status.st_size, status.st_mtime_ns
    return found


class ForeignDatabase:
    """Tables of a foreign database, of whatever version: read by the columns that are there."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        # Whatever functions its tables call: they are not to be run by us.
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        virtual = "type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
        indexes = {name for (name,) in self._rows(f"SELECT name FROM sqlite_master WHERE {virtual}")}
        shadows = {name + end for name in indexes for end in _SHADOWS}
        names = [
            name
            for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if name not in indexes | shadows and not name.startswith("sqlite_")
        ]
        self.tables: Mapping[str, tuple[str, ...]] = {name: self._columns(name) for name in names}

    def has(self, table: str, *columns: str) -> bool:
        return set(columns) <= set(self.tables.get(table, ())) if columns else table in self.tables

    def rows(self, table: str, columns: str, rest: str = "", bindings: Sequence[Any] = ()) -> Iterator[Row]:
        """Rows of a table, as far as there is one. A column that it lacks is None in all of them; `rest` is SQL."""
        names = [name for name in columns.split() if name in self.tables.get(table, ())]
        if not names:
            return
        blank: Row = dict.fromkeys(columns.split())
        # Text that is no UTF-8 would end the reading.
        cells = ", ".join(
            f"iif(typeof({quote_name(n)}) = 'text', CAST({quote_name(n)} AS BLOB), {quote_name(n)})" for n in names
        )
        for values in self._rows(f"SELECT {cells} FROM {quote_name(table)} {rest}", bindings):
            yield {**blank, **{name: _readable(value) for name, value in zip(names, values, strict=True)}}

    def count(self, table: str, condition: str = "1") -> int:
        ((found,),) = self._rows(f"SELECT count(*) FROM {quote_name(table)} WHERE {condition}")
        return int(found)

    def _columns(self, table: str) -> tuple[str, ...]:
        return tuple(row[1] for row in self._rows(f"PRAGMA table_info({quote_name(table)})"))

    def _rows(self, question: str, bindings: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with _telling():
            yield from self._connection.execute(question, tuple(bindings))


def quote_name(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _readable(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except apsw.NotADBError as error:
        raise UnreadableDatabase("it is no SQLite database, or an encrypted one") from error
    except apsw.CorruptError as error:
        raise UnreadableDatabase("it is damaged from here on; its product may be able to repair it") from error
    except apsw.Error as error:
        raise UnreadableDatabase(f"it cannot be read as a database: {error}") from error


EXPORT_TABLE = "export"
"""The table of what an export says of itself."""

Read = Callable[[ForeignDatabase], Iterator[Entry]]


def read_export_tables(
    stream: Stream, tables: Mapping[str, str], read: Read, columns: Mapping[str, str] | None = None
) -> Iterator[Entry]:
    """What `read` finds in an export, whose arrays, or whose `_type` of record, stand for these tables.

    Records that say nothing of the kind belong to the table of the empty name. Tables have these `columns` even where
    no record does.
    """
    try:
        with scratch_database() as connection:
            layout = _Layout(connection, columns or {})
            for element in records(stream, tables):
                if isinstance(element, Skipped):
                    yield element
                elif isinstance(element.value, dict):
                    layout.add(_table(element, tables), element.value)
                else:
                    yield Skipped(f"record {element.number}", "it is no object", "item")
            layout.index()
            yield from read(ForeignDatabase(connection))
    except UnreadableDatabase as error:
        yield Skipped("its records", str(error), "file")


def _table(element: Element, tables: Mapping[str, str]) -> str:
    if "_meta" in element.value:
        return EXPORT_TABLE
    name = element.within or element.value.get("_type") or ""
    return tables.get(name, EXPORT_TABLE) if isinstance(name, str) else EXPORT_TABLE


class _Layout:
    """Tables that get a column whenever a record has a field they do not know yet."""

    def __init__(self, connection: apsw.Connection, columns: Mapping[str, str]) -> None:
        self._connection, self._expected = connection, columns
        self._columns: dict[str, set[str]] = {}

    def add(self, table: str, record: Mapping[str, Any]) -> None:
        # SQL knows no difference of case.
        names = {_name(field).lower(): _name(field) for field in record if field != "_type"}
        cells = {_name(field).lower(): _cell(value) for field, value in record.items() if field != "_type"}
        known = self._columns.setdefault(table, set())
        if not known:
            expected = self._expected.get(table, "id").split()
            self._connection.execute(f"CREATE TABLE {quote_name(table)} ({', '.join(map(quote_name, expected))})")
            known.update(name.lower() for name in expected)
        for name in cells:
            if name not in known:
                self._connection.execute(f"ALTER TABLE {quote_name(table)} ADD COLUMN {quote_name(names[name])}")
                known.add(name)
        into, marks = ", ".join(map(quote_name, cells)) or quote_name(min(known)), ", ".join("?" * len(cells)) or "NULL"
        self._connection.execute(f"INSERT INTO {quote_name(table)} ({into}) VALUES ({marks})", tuple(cells.values()))

    def index(self) -> None:
        """What rows are looked up by."""
        for table, columns in self._columns.items():
            for column in sorted(columns):
                if column.endswith("id") or column in ("source", "target"):
                    name = quote_name(f"{table} {column}")
                    self._connection.execute(f"CREATE INDEX {name} ON {quote_name(table)} ({quote_name(column)})")


def _name(field: str) -> str:
    return UNSTORABLE.sub("\ufffd", field) or "?"


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, int) and abs(value) >= 2**63:
        return str(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value
