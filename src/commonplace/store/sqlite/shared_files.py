"""What the processes that use one SQLite file know of its files, a record of that, and locks.

Each of them holds a shared lock on the record, so that one knows whether it is the last. The lock on the folder keeps
others from opening, closing and checkpointing the store.

SQLite lets whoever asks at the right moment write, and a process that waits asks ten times a second. One that writes
without a pause leaves gaps of less than a millisecond, so that another may find none of them until its time is up. So
writers wait in line first: a process that is next keeps that place until it writes, and nobody else begins meanwhile.
That is a matter of fairness alone: what is written is safe with SQLite's own lock. So nobody waits in line for long,
because a process that is next may have been stopped.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import os
import random
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from commonplace.errors import StoreBusy

fcntl: ModuleType | None
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # Windows
    fcntl = None

# Seconds that a place in line is waited for; then whoever asks at the right moment writes.
LONGEST_IN_LINE = 5.0
# A mark, the inodes of database and log, size and time of the database, two numbers that are not used any more, and
# whether the log is being folded in.
_RECORD = struct.Struct("<8s6q?")
_MARK = b"CmPlOpen"
# The byte of the record whose lock is a place in line: beyond what the record holds.
_PLACE = 1 << 16
# Seconds between two attempts, at first and at most: ever longer, so that many who wait leave time to write.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.1

# The folders that this process has locked. A forked child would keep them locked for as long as it lives.
_folders: set[int] = set()


def _close_in_child() -> None:
    while _folders:
        with contextlib.suppress(OSError):
            os.close(_folders.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


@contextlib.contextmanager
def folder_lock(path: Path, patience: float) -> Iterator[bool]:
    """Keep other processes from opening, closing and checkpointing the store at this path.

    False if another process has the lock and there is no patience to wait for it; StoreBusy if that was in vain.
    """
    folder = None
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
    if fcntl is None or folder is None:
        yield True
        return
    _folders.add(folder)
    try:
        is_mine, attempts = _lock_folder(folder), 0
        again = retry_until(time.monotonic() + patience)
        while not is_mine and patience:
            if not again(attempts):
                raise StoreBusy(f"The store {path} is being opened or closed by another process.")
            is_mine, attempts = _lock_folder(folder), attempts + 1
        yield is_mine
    finally:
        _folders.discard(folder)
        os.close(folder)


def _lock_folder(folder: int) -> bool:
    assert fcntl is not None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks.
        return True
    return True


FileId = tuple[int, int]
"""Device and inode."""


class Files(NamedTuple):
    """What is at a path: the three files, and size and time of the database."""

    main: FileId | None
    log: FileId | None
    shared: FileId | None
    stamp: tuple[int, int]


class State(enum.Enum):
    """How the files at the path compare with those that are open."""

    CURRENT = "the same files"
    MISSING = "the database is not there"
    REPLACED = "another file is in the place of the database"
    LOG_REMOVED = "the log was removed or replaced"
    OVERWRITTEN = "the content of the database was replaced"


def files_at(paths: Sequence[str]) -> Files:
    """Three calls of stat: this is asked before each transaction."""
    main, log, shared = map(_stat, paths)
    return Files(_id(main), _id(log), _id(shared), (main.st_size, main.st_mtime_ns) if main else (0, 0))


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _id(found: os.stat_result | None) -> FileId | None:
    return None if found is None else (found.st_dev, found.st_ino)


def inode_of(file: FileId | None) -> int:
    return file[1] if file else 0


class Record(NamedTuple):
    """Which database and log belong together, by their inodes, and size and time of the database.

    `log` is 0 if it was folded in for good.
    """

    main: int
    log: int
    stamp: tuple[int, int]
    checkpointing: bool


class SharedRecord:
    """The record beside a store. It is written with the lock on the folder."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f".{path.name}.open")
        # None while the store is not open; also in a folder that takes no file, or on a file system without locks.
        self.file: int | None = None

    def hold(self) -> bool:
        """Tell other processes that this one has the store open; whether there are any others."""
        assert fcntl is not None
        try:
            self.file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self.file, fcntl.LOCK_SH)
        except OSError:
            self.release()
            return False
        return not self.is_alone()

    def is_alone(self) -> bool:
        """Whether no other process has the store open."""
        if fcntl is None or self.file is None:
            return False
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(self.file, fcntl.LOCK_SH)
        return True

    def release(self, *, clean: bool = False) -> None:
        """This process has the store open no more. `clean`, with the lock on the folder: nobody needs the record."""
        if self.file is None:
            return
        if clean and self.is_alone():
            self._path.unlink(missing_ok=True)
        # Closed and not unlocked: a forked child has the same lock.
        os.close(self.file)
        self.file = None

    def read(self) -> Record | None:
        raw = b""
        if self.file is not None:
            with contextlib.suppress(OSError):
                raw = os.pread(self.file, _RECORD.size, 0)
        if not raw.startswith(_MARK) or len(raw) != _RECORD.size:
            return None
        _mark, main, log, size, mtime, _unused, _either, checkpointing = _RECORD.unpack(raw)
        return Record(main, log, (size, mtime), checkpointing)

    def write(self, record: Record) -> None:
        if self.file is not None:
            raw = _RECORD.pack(_MARK, record.main, record.log, *record.stamp, 0, 0, record.checkpointing)
            with contextlib.suppress(OSError):
                os.pwrite(self.file, raw, 0)


@contextlib.contextmanager
def next_in_line(record: int | None, end: float) -> Iterator[None]:
    """Be the next process that writes. `record` is the open file that all share; `end` is when nobody waits longer."""
    if fcntl is None or record is None:
        yield
        return
    again = retry_until(min(end, time.monotonic() + LONGEST_IN_LINE))
    is_next, attempts = _take_place(record), 0
    while not is_next and again(attempts):
        is_next, attempts = _take_place(record), attempts + 1
    try:
        yield
    finally:
        if is_next:
            with contextlib.suppress(OSError):
                fcntl.lockf(record, fcntl.LOCK_UN, 1, _PLACE)


def _take_place(record: int) -> bool:
    """Whether this process is next now; also where a file system has no locks."""
    assert fcntl is not None
    try:
        fcntl.lockf(record, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _PLACE)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def retry_until(end: float) -> Callable[[int], bool]:
    """A busy handler: pauses before the next attempt, a little longer each time; False when the time is up."""

    def pause(attempts: int) -> bool:
        left = end - time.monotonic()
        if left <= 0:
            return False
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * (attempts + 1))
        time.sleep(min(left, longest * random.uniform(0.5, 1.0)))
        return True

    return pause
