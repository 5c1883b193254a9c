"""Databases of other products, read from a copy, so that theirs is never locked and never written.

SQLite writes next to a file that it reads while that file has a write-ahead log, and waits for other writers. A copy of
the file with its log or journal does neither; it is taken again if something changed meanwhile. A JSON export is laid
out as the tables it was exported from: so there is one reader per product, and an export of any length needs little
memory.
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
from commonplace.text.dates import EARLIEST_MS, LATEST_MS
from commonplace.text.json_fields import parse_if_json, text_in, time_in

SQLITE_MAGIC = b"SQLite format 3\0"
DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
EXPORT_TABLE = "export"
"""The table of what an export says about itself."""
# What SQLite needs besides the file itself to know what was committed.
_COMPANIONS = ("", "-wal", "-journal")
_TRIES = 5
_CHUNK = 1 << 20
# The longest cell that our own statements need.
_MIN_CELL = 1 << 16
# Tables that belong to a full-text index; they hold nothing of their own.
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
# Times below this are seconds since 1970, others milliseconds.
_SECONDS = 100_000_000_000


class UnreadableDatabase(Exception):
    """Why a database, or the rest of it, cannot be read; a part of a sentence."""


class Row(dict[str, Any]):
    """A row of a table, or an object stored in one. A value may be of any type, and a missing column is None."""

    def text(self, *names: str) -> str:
        """The first of these columns that holds some text or a number."""
        return text_in({n: str(self[n]) for n in names if isinstance(self.get(n), (str, int, float))}, *names)

    def time(self, *names: str) -> int | None:
        """The first of these columns that is a time: milliseconds or seconds since 1970, or ISO 8601."""
        for name in names:
            value = self.get(name)
            if isinstance(value, (int, float)) and value and EARLIEST_MS <= value <= LATEST_MS:
                return round(value * 1000) if abs(value) < _SECONDS else round(value)
            if (ms := time_in(self, name)) is not None:
                return ms
        return None

    def texts(self, name: str) -> list[str]:
        """A list that is stored as JSON or separated by commas."""
        value = parse_if_json(self.get(name))
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, list):
            return []
        entries = (entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False) for entry in value)
        return [entry.strip() for entry in entries if entry.strip()]

    def nested(self, name: str) -> Row:
        """An object that is stored as JSON; empty if it is anything else."""
        return parse_object(self.get(name))


def parse_object(value: Any) -> Row:
    """An object, or the JSON of one, as a row; empty if it is anything else."""
    found = parse_if_json(value)
    return Row(found) if isinstance(found, dict) else Row()


@contextmanager
def open_copy(source: Path | Stream, max_held: int = MAX_HELD) -> Iterator[ForeignDatabase]:
    """The database at a path or in a stream, for the length of the block. `max_held` limits the length of a cell."""
    with TemporaryDirectory(prefix="commonplace-") as folder:
        copy = Path(folder) / "database"
        if isinstance(source, Path):
            _copy(source, copy)
        else:
            with copy.open("wb") as file:
                while part := source.read(_CHUNK):
                    file.write(part)
        with _readable_errors(), closing(apsw.Connection(str(copy))) as connection:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, max(_MIN_CELL, max_held // 4))
            yield ForeignDatabase(connection)


@contextmanager
def scratch_database() -> Iterator[apsw.Connection]:
    """An empty database for the length of the block; nothing in it has to survive a crash."""
    with (
        TemporaryDirectory(prefix="commonplace-") as folder,
        _readable_errors(),
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
            for end in _COMPANIONS:
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
    for end in _COMPANIONS:
        file = path.with_name(path.name + end)
        if not end or file.exists():
            status = file.stat()
            found[end] = status.st_size, status.st_mtime_ns
    return found


class ForeignDatabase:
    """The tables of a foreign database of any version, read by the columns that exist."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        # Functions that its schema calls must not be run here.
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
        """The rows of a table; none if it does not exist. A missing column is None; `rest` is SQL."""
        names = [name for name in columns.split() if name in self.tables.get(table, ())]
        if not names:
            return
        blank = dict.fromkeys(columns.split())
        # Text is read as bytes: reading would end at text that is not UTF-8.
        cells = ", ".join(
            f"iif(typeof({quote_name(n)}) = 'text', CAST({quote_name(n)} AS BLOB), {quote_name(n)})" for n in names
        )
        for values in self._rows(f"SELECT {cells} FROM {quote_name(table)} {rest}", bindings):
            yield Row({**blank, **{name: _decoded(value) for name, value in zip(names, values, strict=True)}})

    def count(self, table: str, condition: str = "1") -> int:
        ((found,),) = self._rows(f"SELECT count(*) FROM {quote_name(table)} WHERE {condition}")
        return int(found)

    def _columns(self, table: str) -> tuple[str, ...]:
        return tuple(row[1] for row in self._rows(f"PRAGMA table_info({quote_name(table)})"))

    def _rows(self, query: str, bindings: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with _readable_errors():
            yield from self._connection.execute(query, tuple(bindings))


def quote_name(name: str) -> str:
    """A name of a table or column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _decoded(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@contextmanager
def _readable_errors() -> Iterator[None]:
    try:
        yield
    except apsw.NotADBError as error:
        raise UnreadableDatabase("it is no SQLite database, or an encrypted one") from error
    except apsw.CorruptError as error:
        raise UnreadableDatabase("it is damaged from here on; its product may be able to repair it") from error
    except apsw.Error as error:
        raise UnreadableDatabase(f"it cannot be read as a database: {error}") from error


def read_export_tables(
    stream: Stream,
    tables: Mapping[str, str],
    read: Callable[[ForeignDatabase], Iterator[Entry]],
    columns: Mapping[str, str] | None = None,
) -> Iterator[Entry]:
    """What `read` finds in a JSON export, whose arrays, or whose `_type` of record, stand for these tables.

    Other records belong to the table of the empty name. Tables have these `columns` even if no record does.
    """
    try:
        with scratch_database() as connection:
            layout = _TableLayout(connection, columns or {})
            for element in records(stream, tables):
                if isinstance(element, Skipped):
                    yield element
                elif isinstance(element.value, dict):
                    layout.add(_table_of(element, tables), element.value)
                else:
                    yield Skipped(f"record {element.number}", "it is no object", "item")
            layout.index()
            yield from read(ForeignDatabase(connection))
    except UnreadableDatabase as error:
        yield Skipped("its records", str(error), "file")


def _table_of(element: Element, tables: Mapping[str, str]) -> str:
    if "_meta" in element.value:
        return EXPORT_TABLE
    name = element.within or element.value.get("_type") or ""
    return tables.get(name, EXPORT_TABLE) if isinstance(name, str) else EXPORT_TABLE


class _TableLayout:
    """Tables that get a new column whenever a record has an unknown field."""

    def __init__(self, connection: apsw.Connection, columns: Mapping[str, str]) -> None:
        self._connection, self._expected = connection, columns
        self._columns: dict[str, set[str]] = {}

    def add(self, table: str, record: Mapping[str, Any]) -> None:
        # SQL does not distinguish case.
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
        """Index the columns by which rows are looked up."""
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
