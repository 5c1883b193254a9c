"""One SQLite file that this process has open: opening it, moving on to a file that replaces it, closing it.

A connection belongs to one thread of one process. Before and after each write the files at the path are compared with
those that are open (see `replaced_file_detection.py`). If they are others, no write is acknowledged, and the next
transaction moves on to what is at the path, once that is sound.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import apsw

from commonplace.data_folder import on_read_only_disk
from commonplace.errors import StoreError, StoreMissing, StoreReplaced
from commonplace.store.sqlite.checkpoint import fold_log
from commonplace.store.sqlite.connection import (
    Connections,
    Forks,
    SqliteConnection,
    close_quietly,
    patiently,
    set_up,
)
from commonplace.store.sqlite.encryption_and_copies import (
    READ_ONLY,
    connect,
    create_folder,
    create_private,
    is_log_empty,
    locked,
)
from commonplace.store.sqlite.file_errors import has_no_room
from commonplace.store.sqlite.replaced_file_detection import Files, FileWatch, Record, State, files_at
from commonplace.store.sqlite.replaced_file_recovery import missing, save_open_files, settle_content, sort_out, unsound

# Below this, two processes that write one WAL file can corrupt it (the WAL-reset bug).
OLDEST_SAFE_SQLITE = 3051003
# How long another process is waited for that has to fold in its log first, or threads of this one in a transaction.
MOVE_SECONDS = 5.0
# How long whoever has the write lock waits to learn why the database has changed.
COMPARE_SECONDS = 0.05
# How long a process that moves on to another file waits for others to close it.
SWITCH_SECONDS = 0.5
TRY_AGAIN = "Nothing was written. Try again: the new file is used from now on."
_UNSURE = "It may not have been stored. Check whether it is there, and write it again if not."

Recognise = Callable[[SqliteConnection], None]
"""Looks at a file before anything is done to it, and raises if it is not for us."""


class Reader(Protocol):
    """Keeps something in memory that was read from the file."""

    def reread(self) -> None:
        """Another file has taken its place."""


class OpenFile:
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
        watched: bool = True,
    ) -> None:
        if apsw.SQLITE_VERSION_NUMBER < OLDEST_SAFE_SQLITE:
            raise StoreError(f"SQLite {apsw.sqlite_lib_version()} is too old to share a file safely.", "Upgrade apsw.")
        self.path = path
        self._key = key
        self._synchronous = {"full": "FULL", "normal": "NORMAL"}[durability]
        self._busy_ms = int(busy_timeout * 1000)
        self._recognise, self._newest = recognise, newest
        self._connections = Connections()
        self._writing = threading.Lock()
        self._forks = Forks(self._close_all, busy_timeout)
        self._watch = FileWatch(path, busy_timeout) if watched else None
        # Whether this process has ever had the store open: from then on a file that is gone is not made anew.
        self._had = False
        # Whether what was read from the file is of the one that is open now.
        self._settled = True
        self._refused: tuple[Files, StoreReplaced] | None = None
        self._attaching = threading.Lock()
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        # In the log after the last write, and when it was last folded in.
        self._log_pages = self._folded_at = 0

    def tell(self, reader: Reader) -> None:
        """Tell this one when another file has taken the place of the one that it was read from."""
        self._readers.add(reader)

    def _another(self) -> SqliteConnection:
        """One more connection of this process, to the same file."""
        self._require_current()
        connection = self._open()
        if self._watch and self._watch.state() is not State.CURRENT:
            close_quietly(connection)
            raise StoreReplaced(f"The store {self.path} was replaced while it was being opened.", TRY_AGAIN)
        return connection

    def _first(self) -> SqliteConnection:
        """The first connection of this process, while no other process opens or closes the store."""
        assert self._watch is not None
        end, pause = time.monotonic() + MOVE_SECONDS, threading.Event()
        while True:
            if not self._had:
                create_folder(self.path)
            try:
                with self._watch.lock(shared=True):
                    joined = self._join(self._watch)
                if joined is not None:
                    return joined
                with self._watch.lock():
                    return self._attach(self._watch)
            except StoreReplaced:
                # Another process has to fold its log in first, and does so in a moment.
                if self._had or time.monotonic() > end:
                    raise
            pause.wait(0.05)

    def _join(self, watch: FileWatch) -> SqliteConnection | None:
        """Open what other processes have open; None if there is anything to be done first."""
        known = watch.join()
        if known is None:
            return None
        files, record = known
        try:
            connection = self._open()
        except (apsw.CorruptError, apsw.NotADBError):
            # It may be overwritten at this moment.
            watch.release()
            return None
        except BaseException:
            watch.release()
            raise
        opened = files_at(self.path)
        if (opened.main, opened.log, opened.stamp) != (files.main, files.log, files.stamp):
            close_quietly(connection)
            watch.release()
            return None
        watch.start(opened, record.epoch, joined=True)
        self._had = True
        return connection

    def _attach(self, watch: FileWatch) -> SqliteConnection:
        """Open what is at the path, after a look whether its files belong together."""
        files = files_at(self.path)
        if self._had and (files.main is None or not files.stamp[0]):
            raise missing(self.path)
        if self._refused is not None and self._refused[0] == files:
            raise self._refused[1]
        try:
            known, others = watch.hold()
            if files.main is None and known is not None and others:
                # Whoever has it open refuses too: two stores would go apart.
                raise missing(self.path)
            epoch = 0 if known is None else known.epoch + self._sorted_out(watch, files, known, others=others)
            connection = self._open(new=not files.stamp[0])
            try:
                # From the first transaction on SQLite has the log open.
                connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
                opened = files_at(self.path)
                if files.main is not None and opened.main != files.main:
                    raise StoreReplaced(f"The store {self.path} was replaced while it was being opened.", TRY_AGAIN)
            except BaseException:
                connection.close()
                raise
        except BaseException as error:
            watch.release(clean=not self._had)
            if isinstance(error, apsw.CorruptError | apsw.NotADBError):
                if self._had:
                    raise self._refuse(files) from error
                if files_at(self.path).stamp != files.stamp:
                    raise unsound(self.path) from error
            raise
        watch.start(opened, epoch)
        self._had, self._refused = True, None
        return connection

    def _sorted_out(self, watch: FileWatch, files: Files, known: Record, *, others: bool) -> int:
        """1 if the database was overwritten by others, and what was read from it before is not valid any more."""
        used = others or self._had
        overwritten = sort_out(self.path, files, known, used=used, others=others)
        if overwritten is None:
            if not settle_content(watch, self._key, self._busy_ms, others=others) and used:
                raise self._refuse(files_at(self.path))
            return 1
        return int(overwritten)

    def _refuse(self, files: Files) -> StoreReplaced:
        """These files are not sound: they are not looked at again until they have changed."""
        error = unsound(self.path)
        self._refused = (files, error)
        return error

    def _move_on(self, watch: FileWatch) -> None:
        """Close what is open, open what is at the path, and read again what was kept in memory of it."""
        with watch.lock():
            state = watch.state(locked=True) if watch.attached else State.REPLACED
            if state is not State.CURRENT:
                self._settled = False
                copy = save_open_files(watch, state, self._connections.any(), self._key, self._busy_ms)
                if state is State.MISSING:
                    # Left open: it may be moved back.
                    raise missing(self.path, copy)
                self._close_connections(fold=False)
                self._connections.keep(self._attach(watch))
        if not self._settled:
            for reader in list(self._readers):
                reader.reread()
            self._settled = True

    def _require_current(self, *, locked: bool = False) -> None:
        """While the write lock is held: a process that folds in a removed log waits until it is released."""
        self._refuse_replaced("in use", TRY_AGAIN, locked=locked, patience=COMPARE_SECONDS)

    def _confirm(self) -> None:
        """After a write: it counts only if it is in the file that is at the path."""
        self._refuse_replaced("being written", _UNSURE)

    def _refuse_replaced(self, when: str, hint: str, **options: Any) -> None:
        if self._watch and (state := self._watch.state(**options)) is not State.CURRENT:
            kind = StoreMissing if state is State.MISSING else StoreReplaced
            raise kind(f"The store {self.path} was replaced while it was {when}: {state.value}.", hint)

    def close(self) -> None:
        """Close this process's connections; the last process to close folds the WAL into the file."""
        with self._forks.holding_forks():
            self._close_all()

    def _close_all(self) -> None:
        watch = self._watch
        if watch is None or not watch.attached:
            self._close_connections(fold=True)
            return
        if self._forks.torn or (not watch.is_alone() and watch.state() is State.CURRENT):
            self._close_connections(fold=False)
        else:
            self._close_last(watch)
        self._settled = False
        if not self._forks.torn:
            self._fold_what_is_left(watch)

    def _close_last(self, watch: FileWatch) -> None:
        """Fold the log in, and leave nothing beside the database; what was replaced meanwhile is saved instead."""
        with contextlib.ExitStack() as stack:
            current = False
            with contextlib.suppress(StoreError, apsw.Error):
                stack.enter_context(watch.lock())
                state = watch.state(locked=True)
                current = state is State.CURRENT
                save_open_files(watch, state, self._connections.any(), self._key, self._busy_ms)
            # Only the last of all processes writes to the database.
            if current and watch.is_alone():
                self._close_folded(watch)
            else:
                connections, self._connections = self._connections, Connections()
                connections.close(fold=current)
            watch.release(clean=current)

    def _close_folded(self, watch: FileWatch) -> None:
        """Close the last connections; SQLite removes the log if all of it is in the database."""
        connections, self._connections = self._connections, Connections()
        connection, folded = connections.any(), False
        with contextlib.suppress(apsw.Error, OSError):
            folded = connection is not None and fold_log(watch, connection, self._key)
        connections.close(fold=folded)
        if folded:
            watch.record_closed()

    def _fold_what_is_left(self, watch: FileWatch) -> None:
        """Two that close at the same moment each take the other for the last one."""
        if not files_at(self.path).log:
            return
        with contextlib.suppress(StoreError, apsw.Error, OSError), watch.lock(wait=False) as mine:
            if not mine:
                return
            known, others = watch.hold()
            if known is None or others:
                watch.release()
                return
            watch.release()
            self._connections.keep(self._attach(watch))
            self._close_folded(watch)
            watch.release(clean=True)

    def _close_connections(self, *, fold: bool) -> None:
        """`fold`: the last one of all processes folds the log in. Else nothing is touched that lies at the path."""
        connections, self._connections = self._connections, Connections()
        connections.close(fold=fold)
        if not fold and self._watch is not None:
            self._watch.release()

    def _open(self, *, new: bool = False) -> SqliteConnection:
        if not self._had:
            create_private(self.path)
        connection = connect(self.path, self._key)
        try:
            self._prepare(connection, new=new)
        except BaseException as error:
            connection.close()
            if self._key and isinstance(error, apsw.NotADBError):
                raise locked(self.path) from error
            if is_log_empty(self.path) and (on_read_only_disk(self.path.parent) or has_no_room(self.path, error)):
                return self._open_as_it_lies()
            raise
        return connection

    def _open_as_it_lies(self) -> SqliteConnection:
        """For reading only, on a disk that takes no file that readers share. Nobody else can write there either."""
        connection = connect(self.path, self._key, READ_ONLY, "immutable=1")
        try:
            self._recognise(connection)
            set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: SqliteConnection, *, new: bool) -> None:
        connection.set_busy_timeout(self._busy_ms)
        self._recognise(connection)
        if self._watch and not new and not connection.pragma("page_count"):
            # Somebody begins to overwrite it: the header of an empty store must not get into what is written there.
            raise unsound(self.path)
        self._watch_log(connection)
        # Switching a file to WAL needs a moment alone, for which SQLite does not call the busy handler. Who moves on to
        # another file has the lock that others need to let go of theirs, and must not keep them waiting for long.
        patience = min(self._busy_ms / 1000, SWITCH_SECONDS) if self._had else self._busy_ms / 1000
        patiently(lambda: connection.pragma("journal_mode", "wal"), patience)
        connection.pragma("synchronous", self._synchronous)
        connection.pragma("journal_size_limit", 64 * 1024 * 1024)
        set_up(connection)

    def _watch_log(self, connection: SqliteConnection) -> None:
        """Let nothing be written to the database but by `_checkpoint`, and by `close`."""
        connection.set_wal_hook(self._note_pages)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK
