"""One space of one database: what every shared part of a store works on."""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import resources
from typing import Any, Protocol, TypeVar

from commonplace.errors import NotFound, StoreCorrupt
from commonplace.store.sql.connection import Connection

# Seconds that a reader waits to have its visit recorded.
VISIT_WAIT_SECONDS = 0.25
_T = TypeVar("_T")
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
