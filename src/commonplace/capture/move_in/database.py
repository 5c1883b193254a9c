"""A database of another product: read from a copy of our own, so that theirs is never locked and never written.

SQLite writes beside a file that it reads while that file has a write-ahead log, and waits for whoever writes. A copy
of the file together with its log or journal does neither; it is taken again if something changed meanwhile.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import apsw

from commonplace.capture.foreign import MAX_HELD, Stream

MAGIC = b"SQLite format 3\0"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
# What SQLite needs besides the file itself to know what was committed.
_BESIDE = ("", "-wal", "-journal")
_TRIES = 5
_CHUNK = 1 << 20
# What statements of our own need.
_LEAST_CELL = 1 << 16
# Tables that a full-text index keeps beside itself; they say nothing of their own.
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")

Row = Mapping[str, Any]


class Unreadable(Exception):
    """Why a database, or the rest of it, cannot be read; a part of a sentence."""


@contextmanager
def opened(source: Path | Stream, max_held: int = MAX_HELD) -> Iterator[Database]:
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
            yield Database(connection)


@contextmanager
def scratch() -> Iterator[apsw.Connection]:
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
                raise Unreadable(f"a copy of it needs {size >> 20:,} MB in {gettempdir()}, which has {free >> 20:,}")
            for end in _BESIDE:
                to.with_name(to.name + end).unlink(missing_ok=True)
            for end in before:
                shutil.copyfile(path.with_name(path.name + end), to.with_name(to.name + end))
            if _stamps(path) == before:
                return
    except FileNotFoundError as error:
        raise Unreadable("it vanished while it was read") from error
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from error
    raise Unreadable("it is being written to all the time; stop its product for a moment")


def _stamps(path: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for end in _BESIDE:
        file = path.with_name(path.name + end)
        if not end or file.exists():
            status = file.stat()
            found[end] = status.st_size, status.st_mtime_ns
    return found


class Database:
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
        cells = ", ".join(f"iif(typeof({quoted(n)}) = 'text', CAST({quoted(n)} AS BLOB), {quoted(n)})" for n in names)
        for values in self._rows(f"SELECT {cells} FROM {quoted(table)} {rest}", bindings):
            yield {**blank, **{name: _readable(value) for name, value in zip(names, values, strict=True)}}

    def count(self, table: str, condition: str = "1") -> int:
        ((found,),) = self._rows(f"SELECT count(*) FROM {quoted(table)} WHERE {condition}")
        return int(found)

    def _columns(self, table: str) -> tuple[str, ...]:
        return tuple(row[1] for row in self._rows(f"PRAGMA table_info({quoted(table)})"))

    def _rows(self, question: str, bindings: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with _telling():
            yield from self._connection.execute(question, tuple(bindings))


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _readable(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except apsw.NotADBError as error:
        raise Unreadable("it is no SQLite database, or an encrypted one") from error
    except apsw.CorruptError as error:
        raise Unreadable("it is damaged from here on; its product may be able to repair it") from error
    except apsw.Error as error:
        raise Unreadable(f"it cannot be read as a database: {error}") from error
