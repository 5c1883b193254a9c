"""The connection that every shared statement runs on, and the space that each part of a store works on.

Statements are written once, as SQLite reads them, and kept to what PostgreSQL understands too. SQLite runs them as they
are; PostgreSQL's connection translates the rest (`postgres/connection.py` lists what). Where SQLite must not choose an
index that begins with the space, it is written `+space_id`. What stands in `/*pg ... */` only PostgreSQL reads.
"""

from __future__ import annotations

import functools
import json
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import resources
from typing import Any, Protocol, TypeVar, cast

from commonplace.errors import NotFound, StoreCorrupt
from commonplace.model import Item, Kind, Session

Bindings = Sequence[Any] | Mapping[str, Any]
Columns = Mapping[str, str]
Rows = Sequence[Sequence[Any]]
Ids = list[int | None]
_T = TypeVar("_T")

# Made once: making one takes longer than writing a few fields with it.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

# Whether a column is one of a list, which is bound as `connection.array(values)`.
IN_LIST = "IN (SELECT value FROM json_each(?))"
IN_BLOBS = "IN (SELECT unhex(value) FROM json_each(?))"


def json_field(column: str, name: str) -> str:
    """A field of a JSON column, as the indexes of SQLite know it (0014_damaged_rows.sql): NULL if it is damaged."""
    return f"json_extract(iif(json_valid({column}), {column}, '{{}}'), '$.{name}')"


class FullTextRows:
    """Full-text rows of many items, gathered here and written at once. An engine knows how."""

    def __init__(self, connection: Any, space_id: int) -> None:
        self._connection, self._space_id = connection, space_id
        # What was added, as it is written.
        self.rows: list[tuple[Any, ...]] = []

    def add(
        self, rowid: int, words: Mapping[str, str], project_id: int, kind: Kind, type_: str, *, part: bool = False
    ) -> None:
        """The words of each column of a passage, or of a whole item under minus its id; a `part` of an item is one."""
        self.rows.append((rowid, *self._row(words, project_id, kind, type_, part=part)))

    def write(self) -> None:
        """Write what was gathered, and begin again."""
        if self.rows:
            self._write()
        self.rows = []

    def _row(self, words: Mapping[str, str], project_id: int, kind: Kind, type_: str, *, part: bool) -> tuple[Any, ...]:
        raise NotImplementedError

    def _write(self) -> None:
        raise NotImplementedError


class Connection:
    """One connection in a transaction. What an engine does its own way raises NotImplementedError here."""

    # Which columns of `items` are written for an engine besides those of both.
    has_checksums: bool
    has_fingerprints: bool
    # After a SELECT whose rows are about to be changed, past those that others are changing.
    skip_locked: str
    # What was read once in the snapshot that is open; None outside of one, and in a transaction that writes.
    snapshot_cache: dict[Hashable, Any] | None = None

    def once(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """What `read` finds, asked once in a snapshot: nothing changes in it. The key has to be unique in the store."""
        cache = self.snapshot_cache
        if cache is None:
            return read()
        if key not in cache:
            cache[key] = read()
        return cast("_T", cache[key])

    def until_changed(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """The same, kept for later snapshots too where an engine can tell that nothing has changed since."""
        return self.once(key, read)

    def rows(self, sql: str, bindings: Bindings = (), *, prepared: bool = False, binary: bool = False) -> list[Any]:
        """All rows as tuples.

        For PostgreSQL: what is `prepared` is planned once for all values, for rows that are looked up by their keys;
        whatever searches is planned each time. `binary` is quicker where rows hold many bytes.
        """
        raise NotImplementedError

    def first(self, sql: str, bindings: Bindings = (), *, prepared: bool = False) -> Any:
        """The first row as a tuple, or None."""
        found = self.rows(sql, bindings, prepared=prepared)
        return found[0] if found else None

    def value(self, sql: str, bindings: Bindings = ()) -> Any:
        """The one value of a query that always has exactly one row, such as a count."""
        return self.rows(sql, bindings)[0][0]

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[tuple[Any, ...]]:
        """Rows one by one, for queries whose rows would not fit into memory together."""
        raise NotImplementedError

    def run(self, sql: str, bindings: Bindings = ()) -> int:
        """Change rows; how many."""
        raise NotImplementedError

    def run_all(self, sql: str, many: Sequence[Bindings]) -> None:
        """The same for many bindings, in one trip to a server."""
        raise NotImplementedError

    def insert(self, sql: str, bindings: Bindings) -> int | None:
        """Add a row, and return its id; None if ON CONFLICT DO NOTHING kept it out."""
        raise NotImplementedError

    def insert_all(self, table: str, columns: Columns, rows: Rows, *, key: Sequence[str], conflict: str = "") -> Ids:
        """Add rows, in one trip to a server, and return the id of each; None for what a `conflict` kept out.

        `columns` has PostgreSQL's type of each; rows are told apart by the columns in `key`.
        """
        raise NotImplementedError

    def add_rows(self, space_id: int, insert: str, types: Sequence[str], rows: Rows, conflict: str) -> None:
        """Add rows of a table that has no ids, many in one statement; `insert` and `conflict` stand around them.

        `types` are PostgreSQL's of all columns but the first, which only it has: the space.
        """
        raise NotImplementedError

    def array(self, values: Iterable[Any]) -> Any:
        """A list of numbers, texts or bytes, as it is bound."""
        raise NotImplementedError

    def as_json(self, value: object) -> str:
        return _ENCODER.encode(value) if value else "{}"

    def get_setting(self, space_id: int, name: str) -> str | None:
        """What is noted of a space in the table `meta`."""
        key = self._setting_key(space_id, name)
        condition = " AND ".join(f"{column} = ?" for column in key)
        row = self.first(f"SELECT value FROM meta WHERE {condition}", [*key.values()], prepared=True)
        return None if row is None else str(row[0])

    def set_setting(self, space_id: int, name: str, value: str) -> None:
        key = self._setting_key(space_id, name)
        self.run(
            f"INSERT INTO meta ({', '.join(key)}, value) VALUES ({'?, ' * len(key)}?)"
            f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET value = excluded.value",
            [*key.values(), value],
        )

    def _setting_key(self, space_id: int, name: str) -> Mapping[str, object]:
        """The columns of `meta` by which a row is known."""
        raise NotImplementedError

    def database_size(self) -> int:
        """Bytes of the whole database."""
        raise NotImplementedError

    def fulltext_rows(self, space_id: int) -> FullTextRows:
        raise NotImplementedError

    def delete_fulltext(self, space_id: int, rowids: Sequence[int]) -> None:
        raise NotImplementedError

    def make_item_changeable(self, item: Item) -> None:
        """Write a damaged item as it was read, for an engine that would not let it be changed."""

    def make_session_changeable(self, session: Session) -> None:
        """The same for a session."""


# Seconds that a reader waits to have its visit recorded.
VISIT_WAIT_SECONDS = 0.25
_Method = TypeVar("_Method", bound=Callable[..., Any])


class Database(Protocol):
    """The transactions that both engines offer."""

    def close(self) -> None: ...

    def read(self, deadline: float | None = None) -> AbstractContextManager[Connection]:
        """A consistent view. What takes longer than `deadline` seconds is interrupted with TimedOut."""

    def write(self, patience: float | None = None, *, alone: bool = True) -> AbstractContextManager[Connection]:
        """One transaction: everything in the block happens, or nothing; StoreBusy if its turn does not come in time.

        Not `alone`: for those who lock the rows that they change, where an engine lets others write meanwhile.
        """

    def write_relaxed(self, patience: float) -> AbstractContextManager[Connection]:
        """A small write that waits only so long for its turn, and not for the disk: a power cut may undo it."""

    def admin_write(self, patience: float | None = None) -> AbstractContextManager[Connection]:
        """A write of whoever owns the tables, beyond one space."""

    def admin_read(self) -> AbstractContextManager[Connection]: ...

    def on_replica(self, work: Callable[[], _T]) -> _T:
        """Have something read from a replica if there is one that has come far enough."""

    def wrote(self, rows: int) -> None:
        """Called after many rows were written, for an engine whose plans depend on how many there are."""

    def note_position(self, connection: Connection) -> None:
        """Called after events were read: what a replica shows next must not be older than they are."""


class Space:
    """A database, migrated, and the number of the space in it."""

    _database: Database
    _space_id: int
    _query_timeout: float
    _lock: threading.Lock
    schema: int
    # When it is now; what no longer holds then is left out of what is found.
    clock: Callable[[], int] = staticmethod(lambda: time.time_ns() // 1_000_000)

    def _open(self, name: str, now_ms: int, query_timeout: float, *, migrate: bool) -> None:
        """Bring the database to this version's schema, or only check it, and find the space."""
        self._query_timeout, self._lock = query_timeout, threading.Lock()
        try:
            self.schema = self._migrate() if migrate else self.check_schema()
            self._space_id = self._find_space(name, now_ms, migrate)
            self._enter_space()
        except BaseException:
            # A repair needs a file that nobody has open.
            self.close()
            raise

    def close(self) -> None:
        """Close what belongs to this store alone."""
        self._database.close()

    def _enter_space(self) -> None:
        """For an engine whose transactions have to know the space."""

    def _migrate(self) -> int:
        """Apply the migrations that are missing, and return the schema's version."""
        raise NotImplementedError

    def check_schema(self) -> int:
        """The schema's version, if this version can work with it; nothing is applied."""
        raise NotImplementedError

    def _find_space(self, name: str, now_ms: int, create: bool) -> int:
        """The number of the space with this name; a missing one is added if `create`, else NotFound."""
        select = "SELECT id FROM spaces WHERE name = ?"
        with self._database.admin_read() as connection:
            row = connection.first(select, (name,))
        if row is None and not create:
            raise NotFound(
                f"There is no space {name!r} in the store yet.", "`commonplace spaces` lists those there are."
            )
        if row is None:
            with self._database.admin_write() as connection:
                insert = "INSERT INTO spaces (name, created_ms) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
                connection.run(insert, (name, now_ms))
                row = connection.first(select, (name,))
        if row is None:
            raise StoreCorrupt(f"The space {name!r} can be neither found nor made in the store.")
        return int(row[0])


def allow_replica(method: _Method) -> _Method:
    """For what is read to be shown: nothing is decided by it that another server could have changed meanwhile.

    A store with replicas runs what is marked so through `Database.on_replica`.
    """
    method.__dict__["allow_replica"] = True
    return method


@functools.cache
def migration_scripts(package: str) -> list[tuple[int, str, str]]:
    """(number, name, SQL) of the numbered files among the migrations of an engine."""
    folder = resources.files(package) / "migrations"
    named = ((re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name), entry) for entry in folder.iterdir())
    return sorted((int(name[1]), name[2], entry.read_text(encoding="utf-8")) for name, entry in named if name)
