"""Noticing that the database file at the store's path is no longer the one that this process has open.

A file can be renamed over, removed, moved, truncated or copied over while a server uses it, and SQLite does not
notice: writes then go to a file that nobody will ever open again. So each process remembers device and inode of the
database, its log (`-wal`) and its shared memory (`-shm`), and compares them with the path before and after each write.

A copy over the file in place keeps the inode. To notice that too, only Commonplace checkpoints the log, under a lock,
and records size and time of the database afterwards in `.commonplace.db.open`, beside it. Any other size or time means
that somebody else wrote to it. Every process that has the store open holds a shared lock on that record. A copy at the
very moment of a checkpoint is noticed by what is in the pages (`checkpoint.py`).

On Windows an open file cannot be replaced; nothing is compared there.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from commonplace.errors import StoreBusy

fcntl: ModuleType | None
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # Windows
    fcntl = None

FileId = tuple[int, int]
"""Device and inode."""

LOG, SHARED = "-wal", "-shm"
_RECORD = struct.Struct("<8s6q?")
_MAGIC = b"CmPlOpen"
# Size and time that no file has.
_OVERWRITTEN = (-1, 0)
# How long a lock is waited for before it is asked again, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05


# The locks that this process holds. A forked child would hold them too, for as long as it lives.
_locks: set[int] = set()


def _close_in_child() -> None:
    while _locks:
        with contextlib.suppress(OSError):
            os.close(_locks.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


class State(enum.Enum):
    """How the files at the path compare with those that are open."""

    CURRENT = "the same files"
    MISSING = "the database is not there"
    REPLACED = "another file is in the place of the database"
    LOG_REMOVED = "the log was removed or replaced"
    OVERWRITTEN = "the content of the database was replaced"


class Files(NamedTuple):
    """What is at a path now: the three files, and size and time of the database."""

    main: FileId | None
    log: FileId | None
    shared: FileId | None
    stamp: tuple[int, int]
    log_size: int


class Record(NamedTuple):
    """What the processes that have a store open know of its files; `log` is 0 if it has been folded in.

    `epoch` grows when the database was overwritten by others: what was read before is not valid any more.
    """

    main: int
    log: int
    stamp: tuple[int, int]
    epoch: int
    checkpointing: bool = False

    def pack(self) -> bytes:
        return _RECORD.pack(_MAGIC, self.main, self.log, *self.stamp, self.epoch, 0, self.checkpointing)


def files_at(path: Path) -> Files:
    main, log, shared = (_stat(one) for one in _three(path))
    return Files(
        _id(main),
        _id(log),
        _id(shared),
        (main.st_size, main.st_mtime_ns) if main else (0, 0),
        log.st_size if log else 0,
    )


@contextlib.contextmanager
def folder_lock(path: Path, patience: float, *, shared: bool = False) -> Iterator[bool]:
    """Keep other processes from opening, closing and checkpointing the store at this path.

    False if another process has the lock and there is no patience to wait for it. `shared` lets others have it too
    that only join those who have the store open.
    """
    folder = None
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
    if fcntl is None or folder is None:
        yield True
        return
    _locks.add(folder)
    try:
        yield _locked(folder, path, patience, shared=shared)
    finally:
        _locks.discard(folder)
        os.close(folder)


class FileWatch:
    """The files of one store as this process opened them."""

    def __init__(self, path: Path, patience: float) -> None:
        self.path, self._patience = path, patience
        # As texts: they are looked at before each transaction.
        self.paths = tuple(map(str, _three(path)))
        self._name = path.with_name(f".{path.name}.open")
        self.files: Files | None = None
        # Size and time of the database when it was last compared.
        self.seen = (0, 0)
        self._epoch = 0
        self._held: int | None = None
        self.opened_at = 0.0

    @property
    def attached(self) -> bool:
        """Whether this process has the store open."""
        return self.files is not None

    @property
    def held(self) -> int | None:
        """The open record that all processes with the store open share, if there is one."""
        return self._held

    def lock(self, *, wait: bool = True, shared: bool = False) -> contextlib.AbstractContextManager[bool]:
        return folder_lock(self.path, self._patience if wait else 0.0, shared=shared)

    def join(self) -> tuple[Files, Record] | None:
        """Hold the store together with others, if its files are just as they recorded them; None if not."""
        if fcntl is None:
            return None
        try:
            self._held = os.open(self._name, os.O_RDWR | os.O_NOFOLLOW)
            fcntl.flock(self._held, fcntl.LOCK_SH)
        except OSError:
            self.release()
            return None
        found, files = self.read(), files_at(self.path)
        if (
            found is not None
            and files.main is not None
            and files.log is not None
            and (found.main, found.log, found.stamp) == (files.main[1], files.log[1], files.stamp)
            and not found.checkpointing
        ):
            return files, found
        self.release()
        return None

    def hold(self) -> tuple[Record | None, bool]:
        """Tell other processes that this one has the store open: what they recorded, and whether there are any."""
        if fcntl is None:
            return None, False
        others = False
        try:
            held = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError:
            # A folder that takes no file takes no writes either.
            return None, False
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            others = True
        except OSError:
            os.close(held)
            return None, False
        fcntl.flock(held, fcntl.LOCK_SH)
        self._held = held
        return self.read(), others

    def start(self, files: Files, epoch: int, *, joined: bool = False) -> None:
        """From now on these are the files that are open. `joined`: others have recorded them."""
        self.files, self.seen, self._epoch = files, files.stamp, epoch
        self.opened_at = time.time()
        if not joined:
            self.record()

    def release(self, *, clean: bool = False) -> None:
        """The store is not open in this process any more.

        `clean`, with the lock of the folder held: if it is open in no other, and all is in the database, nothing is
        left beside it.
        """
        self.files = None
        if self._held is not None:
            if clean and not files_at(self.path).log and self.is_alone():
                self._name.unlink(missing_ok=True)
            # Closed and not unlocked: a forked child has the same lock.
            os.close(self._held)
            self._held = None

    def record(
        self, *, log: int | None = None, checkpointing: bool = False, stamp: tuple[int, int] | None = None
    ) -> None:
        """Write down what the database looks like now. The lock of the folder is needed for it.

        `log` is the number of its log, 0 for none, if that is not the one that is open; `stamp` its size and time if it
        was looked at before. Nothing is written down of a database that has just been put in the place of ours: the log
        at the path is not its own.
        """
        now, files = files_at(self.path), self.files
        if self._held is None or files is None or now.main is None or now.main != files.main:
            return
        if log is None:
            log = files.log[1] if files.log else 0
        stamp = now.stamp if stamp is None else stamp
        if not checkpointing:
            self.seen = stamp
        self._write(Record(now.main[1], log, stamp, self._epoch, checkpointing))

    def record_overwritten(self) -> None:
        """Somebody wrote to the database during a checkpoint: let nobody take it for what it was."""
        if found := self.read():
            self._write(found._replace(stamp=_OVERWRITTEN, checkpointing=False))

    def record_log(self, log: int) -> None:
        """Another file is going to be the log, with the same content. Whoever has the one before leaves it alone."""
        if found := self.read():
            self._write(found._replace(log=log))

    def _write(self, record: Record) -> None:
        if self._held is not None:
            with contextlib.suppress(OSError):
                os.pwrite(self._held, record.pack(), 0)

    def record_closed(self) -> None:
        """The same after the last connection was closed: SQLite has removed the log, unless it could not."""
        log = files_at(self.path).log
        self.record(log=log[1] if log else 0)

    def read(self) -> Record | None:
        if self._held is None:
            return None
        try:
            raw = os.pread(self._held, _RECORD.size, 0)
        except OSError:
            return None
        if len(raw) != _RECORD.size:
            return None
        magic, main, log, size, mtime, epoch, _spare, checkpointing = _RECORD.unpack(raw)
        return Record(main, log, (size, mtime), epoch, checkpointing) if magic == _MAGIC else None

    def state(self, *, locked: bool = False, patience: float | None = None) -> State:
        """Compare the path with what is open: three calls of stat. `locked` if the lock of the folder is held.

        `patience` is how long the lock may be waited for, if it is needed. Whoever has the write lock of the database
        must not wait for long: another process may wait for that one.
        """
        if self.files is None or fcntl is None:
            return State.CURRENT
        main = _stat(self.paths[0])
        if main is None:
            return State.MISSING
        if _id(main) != self.files.main:
            return State.REPLACED
        for path, known in zip(self.paths[1:], (self.files.log, self.files.shared), strict=True):
            if known is not None and _id(_stat(path)) != known:
                return State.LOG_REMOVED
        if (main.st_size, main.st_mtime_ns) == self.seen or self._held is None:
            return State.CURRENT
        if locked:
            return self._compare_alone()
        return self._compare(self._patience if patience is None else patience)

    def _compare(self, patience: float) -> State:
        """The database has changed: whether a process of ours checkpointed it, or somebody else wrote to it."""
        end, pause = time.monotonic() + patience, threading.Event()
        while True:
            found = self.read()
            stamp = files_at(self.path).stamp
            if found is not None and found.epoch == self._epoch and found.stamp == stamp:
                self.seen = stamp
                return State.CURRENT
            with folder_lock(self.path, 0.0) as mine:
                if mine:
                    return self._compare_alone()
            if found is not None and found.epoch == self._epoch and found.checkpointing:
                # It is being checkpointed at this moment.
                return State.CURRENT
            if time.monotonic() > end:
                return State.OVERWRITTEN
            pause.wait(_FIRST_PAUSE)

    def _compare_alone(self) -> State:
        found, stamp = self.read(), files_at(self.path).stamp
        if found is None or found.epoch != self._epoch:
            return State.OVERWRITTEN
        if found.checkpointing and found.stamp != stamp:
            # Whoever was at it was killed; SQLite does it again from the log.
            self.record()
            return State.CURRENT
        if found.stamp != stamp:
            return State.OVERWRITTEN
        self.seen = stamp
        return State.CURRENT

    def is_alone(self) -> bool:
        """Whether no other process has the store open. The lock of the folder is needed for it."""
        if fcntl is None or self._held is None:
            return False
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(self._held, fcntl.LOCK_SH)
        return True


def _locked(folder: int, path: Path, patience: float, *, shared: bool) -> bool:
    assert fcntl is not None
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    end, pause, seconds = time.monotonic() + patience, threading.Event(), _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(folder, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if not patience:
                return False
            if time.monotonic() > end:
                raise StoreBusy(f"The store {path} is being opened or closed by another process.") from None
            pause.wait(seconds)
            seconds = min(seconds * 2, _LONGEST_PAUSE)
        except OSError:
            # A file system without locks.
            return True


def _stat(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _three(path: Path) -> tuple[Path, Path, Path]:
    return path, path.with_name(path.name + LOG), path.with_name(path.name + SHARED)


def _id(found: os.stat_result | None) -> FileId | None:
    return None if found is None else (found.st_dev, found.st_ino)
