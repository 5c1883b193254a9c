"""One SQLite file, opened by many processes and threads: connections, transactions, errors.

A connection belongs to one thread of one process. Writes go through `write()`, one at a time per process, each a
`BEGIN IMMEDIATE` transaction, so a busy file means waiting, never an upgrade that cannot succeed. A fork inherits no
connection (see `forks.py`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from commonplace.errors import StoreBusy, StoreError, StoreTooNew
from commonplace.store.sqlite.copying import make
from commonplace.store.sqlite.files import READ_ONLY, connect, create_private, locked
from commonplace.store.sqlite.forks import Forks
from commonplace.store.sqlite.refusals import full, has_no_room, translated

# Below this, two processes that write one WAL file can corrupt it (the WAL-reset bug).
OLDEST_SAFE_SQLITE = 3051003
PROGRESS_STEPS = 5000

Recognise = Callable[[apsw.Connection], None]
"""Looks at a file before anything is done to it, and raises if it is not for us."""


class Database:
    """The file and this process's connections to it."""

    def __init__(
        self,
        path: Path,
        *,
        durability: str = "full",
        busy_timeout: float = 30.0,
        key: str = "",
        recognise: Recognise = lambda _connection: None,
        newest: int | None = None,
    ) -> None:
        if apsw.SQLITE_VERSION_NUMBER < OLDEST_SAFE_SQLITE:
            raise StoreError(f"SQLite {apsw.sqlite_lib_version()} is too old to share a file safely.", "Upgrade apsw.")
        self.path = path
        self._key = key
        self._synchronous = {"full": "FULL", "normal": "NORMAL"}[durability]
        self._busy_ms = int(busy_timeout * 1000)
        self._recognise, self._newest = recognise, newest
        self._connections = _Connections()
        self._writing = threading.Lock()
        self._forks = Forks(self.close, busy_timeout)

    def connection(self) -> apsw.Connection:
        """This thread's connection, opened on first use."""
        self._forks.check()
        connection = self._connections.mine()
        if connection is not None and not connection.in_transaction and connection.readonly("main"):
            # The disk was full when it was opened; there may be room now.
            _close(connection)
            connection = None
        if connection is None:
            connection = self._open()
            self._connections.keep(connection)
        return connection

    def _writable(self) -> apsw.Connection:
        connection = self.connection()
        if connection.readonly("main"):
            raise full(self.path)
        return connection

    @contextlib.contextmanager
    def read(self, deadline: float | None = None) -> Iterator[apsw.Connection]:
        """A consistent view of the file. After `deadline` seconds the query is interrupted with TimedOut."""
        with translated(self.path), self._forks.kept_out():
            connection = self.connection()
            if connection.in_transaction:
                yield connection
                return
            if deadline is not None:
                end = time.monotonic() + deadline
                connection.set_progress_handler(lambda: time.monotonic() > end, PROGRESS_STEPS)
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if not self._forks.torn:
                    if deadline is not None:
                        connection.set_progress_handler(None)
                    roll_back(connection)

    @contextlib.contextmanager
    def write(self, patience: float | None = None) -> Iterator[apsw.Connection]:
        """One transaction: everything in the block happens, or nothing; StoreBusy if its turn does not come in time."""
        with translated(self.path), self._forks.kept_out(), self._turn(patience):
            connection = self._writable()
            if patience is not None:
                connection.set_busy_timeout(int(patience * 1000))
            try:
                connection.execute("BEGIN IMMEDIATE")
            finally:
                if patience is not None:
                    connection.set_busy_timeout(self._busy_ms)
            try:
                self._refuse_newer(connection)
                yield connection
                self._forks.check()
                connection.execute("COMMIT")
            except BaseException:
                if not self._forks.torn:
                    roll_back(connection)
                raise

    def _refuse_newer(self, connection: apsw.Connection) -> None:
        """A newer version may have migrated the file meanwhile: what is written now might miss a rule of it."""
        if self._newest is not None and int(connection.pragma("user_version")) > self._newest:
            migrated = f"A newer version of Commonplace has migrated the store {self.path} meanwhile."
            raise StoreTooNew(migrated, "Restart this server or editor, so that it runs the newer version too.")

    @contextlib.contextmanager
    def jot(self, patience: float) -> Iterator[apsw.Connection]:
        """A small write that waits only so long for its turn, and not for the disk: a power cut may undo it."""
        with translated(self.path), self._forks.kept_out():
            connection = self._writable()
            connection.pragma("synchronous", "NORMAL")
            try:
                with self.write(patience) as connection:
                    yield connection
            finally:
                if not self._forks.torn:
                    connection.pragma("synchronous", self._synchronous)

    @contextlib.contextmanager
    def _turn(self, patience: float | None) -> Iterator[None]:
        """This thread's turn to write among those of the process."""
        if not self._writing.acquire(timeout=-1 if patience is None else patience):
            raise StoreBusy(f"The store {self.path} is being written.")
        try:
            yield
        finally:
            self._writing.release()

    def backup(self, target: Path, *, to_key: str | None = None, checked: bool = True) -> None:
        """A complete copy of what is committed, with the store's key or another; see copying.py."""
        with translated(self.path), self._forks.kept_out():
            make(self.path, target, self._key, self._busy_ms, to_key=to_key, checked=checked)

    def compact(self) -> bool:
        """Write the file anew without what was deleted from it, and empty its log.

        False if another process still reads what was there, so that the log cannot be emptied yet.
        """
        with translated(self.path), self._forks.kept_out(), self._turn(None):
            # A connection of its own, with temporary tables on the disk: a whole store does not fit into memory.
            connection = connect(self.path, self._key)
            try:
                connection.set_busy_timeout(self._busy_ms)
                connection.pragma("temp_store", 1)
                connection.execute("VACUUM")
                busy, _pages, _moved = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
            finally:
                connection.close()
            return not busy

    def close(self) -> None:
        """Close this process's connections; the last process to close folds the WAL into the file."""
        connections, self._connections = self._connections, _Connections()
        connections.close()

    def _open(self) -> apsw.Connection:
        create_private(self.path)
        connection = connect(self.path, self._key)
        try:
            self._prepare(connection)
        except BaseException as error:
            connection.close()
            if self._key and isinstance(error, apsw.NotADBError):
                raise locked(self.path) from error
            if has_no_room(error) and self._is_settled():
                return self._open_as_it_lies()
            raise
        return connection

    def _is_settled(self) -> bool:
        """Whether everything is in the file itself, and nothing in its log."""
        log = self.path.with_name(self.path.name + "-wal")
        return not log.exists() or not log.stat().st_size

    def _open_as_it_lies(self) -> apsw.Connection:
        """For reading only, on a disk that has no room for what readers share. Nobody else can write there either."""
        connection = connect(self.path, self._key, READ_ONLY, "immutable=1")
        try:
            self._recognise(connection)
            _set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(self._busy_ms)
        self._recognise(connection)
        # Switching a new file to WAL needs a moment alone, for which SQLite does not call the busy handler.
        _patiently(lambda: connection.pragma("journal_mode", "wal"), self._busy_ms / 1000)
        connection.pragma("synchronous", self._synchronous)
        connection.pragma("journal_size_limit", 64 * 1024 * 1024)
        _set_up(connection)


class _Connections:
    """One connection per thread, known by thread so that closing reaches every one of them."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._of: dict[threading.Thread, apsw.Connection] = {}

    def mine(self) -> apsw.Connection | None:
        return getattr(self._local, "connection", None)

    def keep(self, connection: apsw.Connection) -> None:
        """Remember this thread's connection, and close those of threads that have ended."""
        self._local.connection = connection
        with self._lock:
            for thread in [thread for thread in self._of if not thread.is_alive()]:
                _close(self._of.pop(thread))
            self._of[threading.current_thread()] = connection

    def close(self) -> None:
        with self._lock:
            while self._of:
                _close(self._of.popitem()[1])


def _set_up(connection: apsw.Connection) -> None:
    """What every connection has, also one that only reads."""
    connection.pragma("foreign_keys", True)
    connection.pragma("recursive_triggers", True)
    connection.pragma("trusted_schema", False)
    connection.pragma("temp_store", 2)
    connection.pragma("cache_size", -8192)
    # The full-text rows that a question is limited to (scope.py).
    connection.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")


def roll_back(connection: apsw.Connection) -> None:
    """End a transaction without it, unless an error ended it already, such as a full disk."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _close(connection: apsw.Connection) -> None:
    with contextlib.suppress(apsw.Error):
        connection.close()


def _patiently(step: Callable[[], object], seconds: float) -> None:
    """Repeat a step that may meet a lock which SQLite itself would not wait for."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        try:
            step()
            return
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
            pause.wait(0.01)
