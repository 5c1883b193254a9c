"""Transactions on one SQLite file, opened by many processes and threads, which take turns to write.

Writes go through `write()`, one at a time per process, each a `BEGIN IMMEDIATE` transaction, so a busy file means
waiting, never an upgrade that cannot succeed. Which file that is, `open_file.py` knows.
Processes queue to write (`write_queue.py`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import apsw

from commonplace.errors import CommonplaceError, StoreBusy, StoreCorrupt, StoreReplaced, StoreTooNew
from commonplace.store.sql.connection import Connection
from commonplace.store.sqlite.checkpoint import fold_log
from commonplace.store.sqlite.connection import (
    SqliteConnection,
    close_quietly,
    roll_back,
)
from commonplace.store.sqlite.encryption_and_copies import connect, make_copy
from commonplace.store.sqlite.file_errors import not_writable, refusal
from commonplace.store.sqlite.open_file import COMPARE_SECONDS, MOVE_SECONDS, TRY_AGAIN, OpenFile
from commonplace.store.sqlite.replaced_file_detection import FileWatch, State, folder_lock
from commonplace.store.sqlite.write_queue import next_in_line, retry_until
from commonplace.thread_waits import current_thread

PROGRESS_STEPS = 5000
# So many pages in the log are folded into the database; tried again after so many more, if somebody still reads there.
CHECKPOINT_PAGES = 1000
CHECKPOINT_AGAIN = 100

_T = TypeVar("_T")


class _PartOfTransaction:
    """Reading in a transaction that is open already, at whose end the rest is done."""

    __slots__ = ("_connection", "_refused_as")

    def __init__(self, connection: SqliteConnection, refused_as: Callable[[Any], CommonplaceError]) -> None:
        self._connection, self._refused_as = connection, refused_as

    def __enter__(self) -> SqliteConnection:
        return self._connection

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (apsw.Error, UnicodeDecodeError, StoreCorrupt)):
            refused = self._refused_as(error)
            if refused is not error:
                raise refused from error


class Database(OpenFile):
    """Transactions on the file at a path."""

    def connection(self) -> SqliteConnection:
        """This thread's connection, opened on first use."""
        self._forks.check()
        connection = self._connections.mine()
        if connection is not None and not connection.in_transaction and connection.readonly("main"):
            # The disk was full or read-only when it was opened; it may take files now.
            close_quietly(connection)
            connection = None
        if connection is None:
            with self._attaching:
                connection = self._first() if self._watch and not self._watch.attached else self._another()
            self._connections.keep(connection)
        return connection

    @contextlib.contextmanager
    def _used(self) -> Iterator[None]:
        """Use the file that is at the path; what SQLite says of it is raised as ours."""
        try:
            self._enter()
            with self._forks.holding_forks():
                yield
        except (apsw.Error, UnicodeDecodeError, StoreCorrupt) as error:
            refused = self._refused_as(error)
            if refused is error:
                raise
            raise refused from error

    def _refused_as(self, error: apsw.Error | UnicodeDecodeError | StoreCorrupt) -> CommonplaceError:
        """What an error of SQLite means to a caller."""
        connection = self._connections.mine()
        number = connection.system_errno if connection is not None and isinstance(error, apsw.IOError) else 0
        refused = error if isinstance(error, StoreCorrupt) else refusal(self.path, error, number)
        if isinstance(refused, StoreCorrupt) and self._is_replaced():
            return StoreReplaced(f"The store {self.path} was replaced while it was in use.", TRY_AGAIN)
        return refused

    def _is_replaced(self) -> bool:
        """Whether other files are at the path, or were overwritten during a checkpoint: its end is waited for."""
        watch = self._watch
        if watch is None or watch.state() is not State.CURRENT:
            return watch is not None
        with contextlib.suppress(StoreBusy), folder_lock(self.path, COMPARE_SECONDS):
            return watch.state(locked=True) is not State.CURRENT
        return False

    def _enter(self) -> None:
        """Before a transaction: if other files are at the path, move on to them. An error if that cannot be done."""
        watch = self._watch
        if watch is None or not self._had or self._forks.is_inside():
            return
        with self._forks.holding_forks():
            self._forks.check()
            if self._settled and (_is_unchanged(watch) or (watch.attached and watch.state() is State.CURRENT)):
                return
        with self._forks.alone(MOVE_SECONDS) as left:
            if not left:
                raise StoreReplaced(f"The store {self.path} was replaced, and is still being checked.", TRY_AGAIN)
            self._move_on(watch)

    def _checkpoint(self, connection: SqliteConnection) -> None:
        """Fold the log into the database, unless another process is at it. What was written is safe either way."""
        if self._watch is None:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            return
        with self._watch.lock(wait=False) as mine, contextlib.suppress(apsw.Error, OSError):
            if mine and fold_log(self._watch, connection, self._key):
                self._folded_at = self._log_pages

    def _writable(self) -> SqliteConnection:
        connection = self.connection()
        if connection.readonly("main"):
            raise not_writable(self.path)
        return connection

    def read(self, deadline: float | None = None) -> contextlib.AbstractContextManager[SqliteConnection]:
        """A consistent view of the file. After `deadline` seconds the query is interrupted with TimedOut."""
        connection = self._connections.mine()
        if connection is not None and connection.in_transaction and not self._forks.torn:
            return _PartOfTransaction(connection, self._refused_as)
        return self._snapshot(deadline)

    @contextlib.contextmanager
    def _snapshot(self, deadline: float | None) -> Iterator[SqliteConnection]:
        with self._used():
            connection = self.connection()
            if deadline is not None:
                end = time.monotonic() + deadline
                connection.set_progress_handler(lambda: time.monotonic() > end, PROGRESS_STEPS)
            connection.execute("BEGIN")
            connection.snapshot_cache = {}
            try:
                yield connection
            finally:
                connection.snapshot_cache = None
                if not self._forks.torn:
                    if deadline is not None:
                        connection.set_progress_handler(None)
                    roll_back(connection)

    @contextlib.contextmanager
    def write(self, patience: float | None = None, *, alone: bool = True) -> Iterator[SqliteConnection]:
        """One transaction: everything in the block happens, or nothing; StoreBusy if its turn does not come in time."""
        with self._used(), self._turn(patience):
            connection = self._writable()
            self._begin(connection, self._busy_ms / 1000 if patience is None else patience)
            try:
                self._require_current()
                self._refuse_newer(connection)
                yield connection
                self._forks.check()
                with current_thread.waits():
                    connection.execute("COMMIT")
                self._confirm()
            except BaseException:
                if not self._forks.torn:
                    roll_back(connection)
                raise
            if self._log_pages >= CHECKPOINT_PAGES and abs(self._log_pages - self._folded_at) >= CHECKPOINT_AGAIN:
                self._checkpoint(connection)

    def _begin(self, connection: SqliteConnection, patience: float) -> None:
        """Begin to write when it is this process's turn."""
        end = time.monotonic() + patience
        with next_in_line(None if self._watch is None else self._watch.held, end):
            connection.set_busy_handler(retry_until(end))
            try:
                connection.execute("BEGIN IMMEDIATE")
            finally:
                connection.set_busy_timeout(self._busy_ms)

    def _refuse_newer(self, connection: SqliteConnection) -> None:
        """A newer version may have migrated the file meanwhile: what is written now might miss a rule of it."""
        if self._newest is not None and int(connection.pragma("user_version")) > self._newest:
            migrated = f"A newer version of Commonplace has migrated the store {self.path} in the meantime."
            raise StoreTooNew(migrated, "Restart this server or editor, so that it runs the newer version too.")

    @contextlib.contextmanager
    def write_relaxed(self, patience: float) -> Iterator[SqliteConnection]:
        with self._used():
            connection = self._writable()
            connection.pragma("synchronous", "NORMAL")
            try:
                with self.write(patience) as connection:
                    yield connection
            finally:
                if not self._forks.torn:
                    connection.pragma("synchronous", self._synchronous)

    def admin_write(self, patience: float | None = None) -> contextlib.AbstractContextManager[SqliteConnection]:
        return self.write(patience)

    def admin_read(self) -> contextlib.AbstractContextManager[SqliteConnection]:
        return self.read()

    def on_replica(self, work: Callable[[], _T]) -> _T:
        """A file has no replicas."""
        return work()

    def wrote(self, rows: int) -> None:
        """SQLite plans without counting rows."""

    def note_position(self, connection: Connection) -> None:
        """SQLite has no replicas."""

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
        """A complete copy of what is committed, with the store's key or another; see files.py."""
        with self._used():
            make_copy(self.path, target, self._key, self._busy_ms, to_key=to_key, checked=checked)

    def compact(self) -> bool:
        """Write the file anew without what was deleted from it, and empty its log.

        False if another process still reads what was there, so that the log cannot be emptied yet.
        """
        with self._used(), self._turn(None):
            # A connection of its own, with temporary tables on the disk: a whole store does not fit into memory.
            connection = connect(self.path, self._key)
            try:
                connection.set_busy_timeout(self._busy_ms)
                connection.pragma("temp_store", 1)
                self._watch_log(connection)
                connection.execute("VACUUM")
                with self._watch.lock() if self._watch else contextlib.nullcontext():
                    if self._watch:
                        fold_log(self._watch, connection, self._key)
                    self._require_current(locked=True)
                    if self._watch:
                        self._watch.record(checkpointing=True)
                    busy, _pages, _moved = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
                    if self._watch:
                        self._watch.record()
            finally:
                connection.close()
            return not busy


def _is_unchanged(watch: FileWatch) -> bool:
    """Whether the files at the path are surely those that are open: nothing has changed since they were compared.

    Asked before each transaction, so it takes three calls of stat and little more.
    """
    files = watch.files
    if files is None:
        return False
    try:
        main, log, shared = map(os.stat, watch.paths)
    except OSError:
        return False
    return (
        (main.st_dev, main.st_ino) == files.main
        and (log.st_dev, log.st_ino) == files.log
        and (shared.st_dev, shared.st_ino) == files.shared
        and (main.st_size, main.st_mtime_ns) == watch.seen
    )
