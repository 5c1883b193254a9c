"""One SQLite file that this process has open: opening it, noticing that it was replaced, moving on, and closing it.

A file can be renamed over, removed, moved, truncated or copied over while a server uses it, and SQLite does not
notice: writes then go to a file that nobody will ever open again. So device and inode of the database, of its log
(`-wal`) and of its shared memory (`-shm`) are compared with those at the path before and after each write. If they are
others, no write is acknowledged, and the next transaction moves on to what is at the path, once that is sound.

A copy over the file in place (`cp`) keeps the inode. To notice that too, only Commonplace folds the log into the
database, with the lock on the folder, and records in `.commonplace.db.open` beside it which database and log belong
together, and size and time of the database. Any other size or time means that somebody else wrote to it. Each process
that has the store open holds a shared lock on that record.

On Windows an open file cannot be replaced; nothing is compared there.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import apsw

from commonplace.data_folder import on_read_only_disk
from commonplace.errors import CommonplaceError, StoreError, StoreMissing, StoreReadOnly, StoreReplaced
from commonplace.store.sqlite.connection import Connections, Forks, SqliteConnection, close_quietly, patiently, set_up
from commonplace.store.sqlite.encryption_and_copies import (
    LOG_ENDS,
    READ_ONLY,
    connect,
    create_folder,
    create_private,
    is_log_empty,
    is_sound,
    locked,
    make_copy,
)
from commonplace.store.sqlite.file_errors import has_no_room
from commonplace.store.sqlite.shared_files import (
    FileId,
    Files,
    Record,
    SharedRecord,
    State,
    fcntl,
    files_at,
    folder_lock,
    inode_of,
)

# Below this, two processes that write one WAL file can corrupt it (the WAL-reset bug).
OLDEST_SAFE_SQLITE = 3051003
# How long another process is waited for that has to fold in its log first, or threads of this one in a transaction.
MOVE_SECONDS = 5.0
# How long a process that moves on to another file waits for others to close it.
SWITCH_SECONDS = 0.5
# How long whoever closes the store waits for others who open or close it.
CLOSE_SECONDS = 1.0
# A file that was written more recently may not be finished.
QUIET_NS = 200_000_000
# How often file and record are read until they agree: another process may have written one, and not yet the other.
LOOKS = 10
TRY_AGAIN = "Nothing was written. Try again: the new file is used from now on."
UNSURE = "It may not have been stored. Check whether it is there, and write it again if not."
_TIME = "%Y%m%dT%H%M%S"
_READ = "SELECT 1 FROM sqlite_schema LIMIT 1"

Recognise = Callable[[SqliteConnection], None]
"""Looks at a file before anything is done to it, and raises if it is not for us."""


class Reader(Protocol):
    """Keeps something in memory that was read from the file."""

    def reread(self) -> None:
        """Another file has taken its place."""


class OpenFile:
    """The file, and this process's connections to it, one for each thread."""

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
        self._paths = tuple(str(path.with_name(path.name + end)) for end in ("", *LOG_ENDS))
        self._key = key
        self._synchronous = {"full": "FULL", "normal": "NORMAL"}[durability]
        self._patience, self._busy_ms = busy_timeout, int(busy_timeout * 1000)
        self._recognise, self._newest = recognise, newest
        self._connections = Connections()
        self._writing = threading.Lock()
        self._attaching = threading.Lock()
        self._forks = Forks(self._close_all, busy_timeout)
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._watched = watched and fcntl is not None
        # The files that are open, with size and time as they were last compared.
        self._files: Files | None = None
        self._opened_at = 0.0
        self._record = SharedRecord(path)
        # Whether this process has ever had the store open: from then on a file that is gone is not made anew.
        self._had = False
        # Whether what was read from the file is of the one that is open now.
        self._settled = True
        # Files that are not sound are not looked at again until they have changed.
        self._refused: Files | None = None
        # In the log after the last write, and when it was last folded in.
        self._log_pages = self._folded_at = 0

    def tell(self, reader: Reader) -> None:
        """Tell this one when another file has taken the place of the one that it was read from."""
        self._readers.add(reader)

    def state(self) -> State:
        """How the files at the path compare with those that are open."""
        known, now = self._files, files_at(self._paths)
        if known is None or now == known:
            return State.CURRENT
        if now.main is None:
            return State.MISSING
        if now.main != known.main:
            return State.REPLACED
        if known.log not in (None, now.log) or known.shared not in (None, now.shared):
            return State.LOG_REMOVED
        for _ in range(LOOKS):
            record = self._record.read()
            if self._record.file is None or (record is not None and record.checkpointing):
                # A folder that takes no record takes no writes either.
                return State.CURRENT
            if record is not None and record.stamp == now.stamp:
                self._files = known._replace(stamp=now.stamp)
                return State.CURRENT
            now = files_at(self._paths)
        return State.OVERWRITTEN

    def _refuse_replaced(self, when: str, hint: str) -> None:
        """Before a write, with the write lock of the database; and after it, since it may be in another file then."""
        state = self.state()
        if state is not State.CURRENT:
            kind = StoreMissing if state is State.MISSING else StoreReplaced
            raise kind(f"The store {self.path} was replaced while it was {when}: {state.value}.", hint)

    def _lock(self, patience: float | None = None) -> contextlib.AbstractContextManager[bool]:
        return folder_lock(self.path, self._patience if patience is None else patience)

    def _write_record(self, *, checkpointing: bool = False, folded_in: bool = False) -> None:
        """Write down what the database looks like now, unless another has just been put in its place."""
        known, now = self._files, files_at(self._paths)
        if known is None or now.main is None or now.main != known.main:
            return
        if not checkpointing:
            self._files = known._replace(stamp=now.stamp)
        log = 0 if folded_in else inode_of(known.log)
        self._record.write(Record(inode_of(now.main), log, now.stamp, checkpointing))

    def _release(self, *, clean: bool = False) -> None:
        """This process has the store open no more. `clean`: leave nothing beside it, unless there is a log."""
        self._files = None
        self._record.release(clean=clean and not os.path.exists(self._paths[1]))

    # Opening.

    def _first(self) -> SqliteConnection:
        """The first connection of this process, while no other process opens or closes the store."""
        end, pause = time.monotonic() + MOVE_SECONDS, threading.Event()
        while True:
            if not self._had:
                create_folder(self.path)
            try:
                with self._lock():
                    return self._attach()
            except StoreReplaced:
                # Another process has to fold its log in first, and does so in a moment.
                if self._had or time.monotonic() > end:
                    raise
            pause.wait(0.05)

    def _another(self) -> SqliteConnection:
        """One more connection of this process, to the same file."""
        self._refuse_replaced("in use", TRY_AGAIN)
        connection = self._open()
        if self.state() is not State.CURRENT:
            close_quietly(connection)
            raise self._replaced_meanwhile()
        return connection

    def _attach(self) -> SqliteConnection:
        """Open what is at the path, after a look whether its files belong together. The lock on the folder is held."""
        files = files_at(self._paths)
        if self._had and (files.main is None or not files.stamp[0]):
            raise self._missing()
        if self._refused == files:
            raise self._unsound()
        try:
            connection, opened = self._open_together(files)
        except BaseException as error:
            self._release(clean=not self._had)
            is_damaged = isinstance(error, apsw.CorruptError | apsw.NotADBError)
            if is_damaged and self._had:
                self._refused = files_at(self._paths)
            if is_damaged and (self._had or files_at(self._paths).stamp != files.stamp):
                raise self._unsound() from error
            raise
        self._files, self._opened_at = opened, time.time()
        self._write_record()
        self._had, self._refused = True, None
        return connection

    def _open_together(self, files: Files) -> tuple[SqliteConnection, Files]:
        """A connection to the database with the log that belongs to it, and what lies at the path then."""
        others = self._record.hold()
        record = self._record.read()
        if record is not None:
            self._adopt_log(files, record, others=others)
            files = files_at(self._paths)
        connection = self._open(new=not files.stamp[0])
        try:
            # From the first transaction on SQLite has the log open.
            connection.execute(_READ).fetchall()
            opened = files_at(self._paths)
            joined = others and record is not None and record.stamp == files.stamp
            if files.main not in (None, opened.main) or (joined and opened.stamp != files.stamp):
                raise self._replaced_meanwhile()
        except BaseException:
            connection.close()
            raise
        return connection, opened

    def _adopt_log(self, files: Files, record: Record, *, others: bool) -> None:
        """Before a store is opened: let its log be the one that belongs to it.

        StoreReplaced if other processes have to fold in a removed log first, or if the content is not sound.
        """
        log, used = inode_of(files.log), others or self._had
        is_recorded = bool(log) and log == record.log
        if files.main is None and others:
            # They refuse too: two stores would go apart.
            raise self._missing()
        if record.main != inode_of(files.main):
            # The database was replaced, and the log may be that of the one before.
            if is_recorded:
                self._put_log_aside()
            return
        if others and record.log and not is_recorded:
            raise self._log_removed()
        is_overwritten = record.stamp != files.stamp and not record.checkpointing
        if is_overwritten and (used or (is_recorded and not is_log_empty(self.path))):
            self._settle_overwritten(files.stamp, used=used)

    def _settle_overwritten(self, stamp: tuple[int, int], *, used: bool) -> None:
        """Of a database that others overwrote: fold its log in if both fit together, else put that aside.

        Either way another log begins, so that all processes that have the store open move on. None of them writes
        until then.
        """
        if 0 <= time.time_ns() - stamp[1] < QUIET_NS:
            raise self._unsound()
        if is_sound(self.path, self._key, self._busy_ms):
            with contextlib.closing(connect(self.path, self._key)) as connection:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.execute(_READ).fetchall()
                if files_at(self._paths).stamp != stamp or connection.first("PRAGMA wal_checkpoint(FULL)")[0]:
                    # Somebody writes or reads it.
                    raise self._unsound()
            self._remove_log()
        elif is_sound(self.path, self._key, self._busy_ms, alone=True):
            if files_at(self._paths).stamp != stamp:
                raise self._unsound()
            self._put_log_aside()
        elif used:
            self._refused = files_at(self._paths)
            raise self._unsound()

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
        if self._watched and not new and not connection.pragma("page_count"):
            # Somebody begins to overwrite it: the header of an empty store must not get into what is written there.
            raise self._unsound()
        self._watch_log(connection)
        # Switching a file to WAL needs a moment alone, for which SQLite does not call the busy handler. Who moves on to
        # another file has the lock that others need to let go of theirs, and must not keep them waiting for long.
        patience = min(self._patience, SWITCH_SECONDS) if self._had else self._patience
        patiently(lambda: connection.pragma("journal_mode", "wal"), patience)
        connection.pragma("synchronous", self._synchronous)
        connection.pragma("journal_size_limit", 64 * 1024 * 1024)
        set_up(connection)

    def _watch_log(self, connection: SqliteConnection) -> None:
        """Let nothing be written to the database but by `_checkpoint`, and by the last process to close it."""
        connection.set_wal_hook(self._note_pages)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    # Moving on to another file.

    def _move_on(self) -> None:
        """Close what is open, open what is at the path, and read again what was kept in memory of it."""
        with self._lock():
            state = self.state()
            if self._files is None or state is not State.CURRENT:
                self._settled = False
                copy = self._save(state)
                if state is State.MISSING:
                    # Left open: it may be moved back.
                    raise self._missing(copy)
                self._close_connections(fold=False)
                self._connections.keep(self._attach())
        if not self._settled:
            for reader in list(self._readers):
                reader.reread()
            self._settled = True

    def _save(self, state: State) -> Path | None:
        """Before the files that are open are closed for good: put into the database, or a copy, what only they hold.

        The lock on the folder is held. What was overwritten in place cannot be read any more.
        """
        connection = self._connections.any()
        if connection is None or self._files is None:
            return None
        if state is State.LOG_REMOVED:
            self._fold_removed_log(connection, self._files.log)
        if state in (State.MISSING, State.REPLACED):
            return self._copy(connection, inode_of(self._files.main))
        return None

    def _fold_removed_log(self, connection: SqliteConnection, log: FileId | None) -> None:
        record, now = self._record.read(), files_at(self._paths)
        if record is None or record.log != inode_of(log):
            # Another process has done it.
            return
        if record.stamp != now.stamp and not record.checkpointing:
            # The database was overwritten too: SQLite removes the log of one that is empty for a moment.
            self._record.write(record._replace(log=0))
            return
        self._write_record(checkpointing=True)
        try:
            busy = connection.first("PRAGMA wal_checkpoint(FULL)")[0]
        finally:
            self._write_record()
        if busy:
            raise self._log_removed()
        if now.log in (None, log):
            self._remove_log()
        else:
            # Somebody began another log, which belongs to what the database was before.
            self._put_log_aside()
        self._write_record(folded_in=True)

    def _copy(self, connection: SqliteConnection, inode: int) -> Path | None:
        """A copy of the open database in the folder of backups, once for all processes that have it open."""
        tag = f"{self.path.stem}-{inode:x}-replaced-"
        try:
            folder = self._backup_folder()
            for made in folder.glob(f"{tag}*.db"):
                # The inode is ours for as long as we have it open: a later copy of it is of the same file.
                if made.stat().st_mtime >= self._opened_at:
                    return made
            target = folder / f"{tag}{time.strftime(_TIME, time.gmtime())}.db"
            make_copy(self.path, target, self._key, self._busy_ms, checked=False, original=connection)
        except (OSError, apsw.Error, CommonplaceError):
            # The folder is gone too, or the disk is full.
            return None
        return target

    def _put_log_aside(self) -> None:
        """Take away a log that belongs to another database; it is kept in the folder of backups."""
        log, folder = Path(self._paths[1]), self._backup_folder()
        if log.exists():
            log.replace(folder / f"{self.path.stem}-log-{time.strftime(_TIME, time.gmtime())}.db-wal")
        self._remove_log()

    def _remove_log(self) -> None:
        for path in self._paths[1:]:
            Path(path).unlink(missing_ok=True)

    def _backup_folder(self) -> Path:
        folder = self.path.parent / "backups"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink():
            raise StoreReadOnly(f"The folder {folder} for backups is a link.", "Put a folder in its place.")
        return folder

    # Folding the log into the database, and closing.

    def _checkpoint(self, connection: SqliteConnection, mode: str = "PASSIVE", patience: float = 0.0) -> bool:
        """Fold the log in, unless another process is at it; whether all was done that `mode` asks for.

        What was written is safe either way.
        """
        statement = f"PRAGMA wal_checkpoint({mode})"
        if not self._watched:
            return not connection.first(statement)[0]
        with self._lock(patience) as mine:
            if not mine or self.state() is not State.CURRENT:
                return False
            self._write_record(checkpointing=True)
            try:
                busy = connection.first(statement)[0]
            finally:
                self._write_record()
            self._folded_at = self._log_pages
            return not busy

    def close(self) -> None:
        """Close this process's connections; the last process to close folds the log into the file."""
        with self._forks.holding_forks():
            self._close_all()

    def _close_all(self) -> None:
        if not self._watched:
            self._close_connections(fold=True)
            return
        if self._files is not None and not self._forks.torn:
            self._settled = False
            with contextlib.suppress(StoreError, apsw.Error, OSError), self._lock(CLOSE_SECONDS):
                state = self.state()
                self._save(state)
                if state is State.CURRENT and self._record.is_alone():
                    self._write_record(checkpointing=True)
                    # SQLite folds the log in, and removes it, when its last connection is closed.
                    self._connections.close(fold=True)
                    self._write_record(folded_in=not os.path.exists(self._paths[1]))
                self._close_connections(fold=False, clean=state is State.CURRENT)
        self._close_connections(fold=False)

    def _close_connections(self, *, fold: bool, clean: bool = False) -> None:
        """`fold`: SQLite may fold the log in. Else nothing is touched that lies at the path."""
        connections, self._connections = self._connections, Connections()
        connections.close(fold=fold)
        self._release(clean=clean)

    # Refusing.

    def _missing(self, copy: Path | None = None) -> StoreMissing:
        """The database is gone. To begin a new one, what uses it has to be stopped first."""
        where = f" A copy of what it held is {copy}." if copy else ""
        return StoreMissing(f"The store {self.path} was removed or moved while it was in use.{where}")

    def _unsound(self) -> StoreReplaced:
        overwritten = "was overwritten while it was in use, and its content is damaged or unfinished"
        return StoreReplaced(f"The store {self.path} {overwritten}.")

    def _log_removed(self) -> StoreReplaced:
        return StoreReplaced(
            f"The log {self.path.name}-wal of the store {self.path} was removed while another process was using it.",
            "That process recovers by itself. Try again; if it persists, restart that process.",
        )

    def _replaced_meanwhile(self) -> StoreReplaced:
        return StoreReplaced(f"The store {self.path} was replaced while it was being opened.", TRY_AGAIN)
