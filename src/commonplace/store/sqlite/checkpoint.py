"""Folding the log into the database, and noticing that somebody overwrote the database at that very moment.

A copy over the file in place (`cp`) takes no lock. During a checkpoint its size and time cannot tell such a copy from
our own writing, and SQLite would begin its log again although pages of it have been overwritten: they would be lost.
So nobody may write until the folded pages were read back and compared with the log. If they differ, the log is still
whole, and whoever comes next settles which content is sound (`replaced_file_recovery.py`).
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import apsw

from commonplace.store.sqlite.connection import SqliteConnection, roll_back
from commonplace.store.sqlite.encryption_and_copies import connect
from commonplace.store.sqlite.replaced_file_detection import LOG, FileWatch, State, fcntl, files_at

# How long those who write are waited for.
_BUSY_MS = 1000
# The log: a header with the size of pages, then frames, each with a header that begins with the number of its page and,
# at the end of a transaction, the number of pages that the database has from then on.
_LOG_HEADER, _FRAME_HEADER = 32, 24
_PAGE_SIZE_AT = 8
_NUMBER = struct.Struct(">I")
# So many pages of each kind that must not change are looked at.
_SAMPLE = 64
_VFS = "unix"


def fold_log(watch: FileWatch, writer: SqliteConnection, key: str) -> bool:
    """Fold what can be folded of the log into the database; False if the database is not what it should be then.

    The lock of the folder is held. `writer`, a connection that is not in use, keeps others from writing meanwhile.
    """
    if fcntl is None:
        writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return True
    with contextlib.closing(connect(watch.path, key)) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        with _write_lock(writer):
            return _fold(watch, connection, encrypted=bool(key))


@contextlib.contextmanager
def _write_lock(connection: SqliteConnection) -> Iterator[None]:
    """Nobody writes, so nobody begins the log again."""
    patience = int(connection.pragma("busy_timeout"))
    connection.set_busy_timeout(min(patience, _BUSY_MS))
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.set_busy_timeout(patience)
    try:
        yield
    finally:
        roll_back(connection)


def _fold(watch: FileWatch, connection: SqliteConnection, *, encrypted: bool) -> bool:
    _busy, frames, before = connection.first("PRAGMA wal_checkpoint(NOOP)")
    with contextlib.closing(_Pages(watch.path, frames)) as pages:
        sample = pages.sample()
        if watch.state(locked=True) is not State.CURRENT:
            return False
        watch.record(checkpointing=True)
        arrived, stamp = False, (0, 0)
        try:
            folded = _checkpoint(connection, before)
            # Whoever overwrites the database from here on changes its time once more.
            stamp = files_at(watch.path).stamp
            # In the database a page is encrypted otherwise than in the log.
            arrived = pages.are_unchanged(sample) and (encrypted or pages.are_folded(folded))
        finally:
            if arrived:
                watch.record(stamp=stamp)
            else:
                watch.record_overwritten()
    return arrived


def _checkpoint(connection: SqliteConnection, before: int) -> int:
    """How many frames of the log are in the database now; that many were `before`."""
    try:
        return int(connection.first("PRAGMA wal_checkpoint(PASSIVE)")[2])
    except apsw.Error:
        # The disk is full, or somebody else is at it: what is in the log stays valid.
        return before


class _Pages:
    """The pages of a database as they lie in the file, and in its log."""

    def __init__(self, path: Path, frames: int) -> None:
        # Through SQLite: if this process closed the file in another way, it would lose its locks on it.
        flags = [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0]
        self._file = apsw.VFSFile(_VFS, str(path.absolute()), flags)
        self._log = os.open(f"{path}{LOG}", os.O_RDONLY)
        header = self._logged(0, _LOG_HEADER)
        self._size = int(_NUMBER.unpack_from(header, _PAGE_SIZE_AT)[0]) if len(header) == _LOG_HEADER else 0
        self._frames = frames
        self._newest = self._places(0, frames)

    def close(self) -> None:
        os.close(self._log)
        self._file.xClose()

    def sample(self) -> dict[int, bytes]:
        """Some pages that a checkpoint does not change, since they are not in the log.

        Those that were in it before it was begun again are what a recent copy differs in; an older one is shorter.
        """
        if not self._size:
            return {}
        logged, before = self._newest.keys(), self._places(self._frames, self._frames + _SAMPLE)
        count = min(self._file.xFileSize() // self._size, self._count())
        last = islice((number for number in range(count, 0, -1) if number not in logged), _SAMPLE)
        spread = range(1, count + 1, max(1, count // _SAMPLE))
        chosen = {*last, *spread, *before} - logged
        return {number: self._read(number) for number in chosen if 0 < number <= count}

    def are_unchanged(self, sample: dict[int, bytes]) -> bool:
        return all(self._read(number) == page for number, page in sample.items())

    def are_folded(self, frames: int) -> bool:
        """Whether the first frames of the log are in the database, but for pages that come again behind them."""
        end, count = self._frame(frames), self._count()
        return all(
            self._read(number) == self._logged(at + _FRAME_HEADER, self._size)
            for number, at in self._newest.items()
            if at < end and number <= count
        )

    def _count(self) -> int:
        """How many pages the database has after the last transaction; what lies behind is cut off."""
        last = self._logged(self._frame(self._frames - 1), 2 * _NUMBER.size) if self._frames else b""
        return int(_NUMBER.unpack_from(last, _NUMBER.size)[0]) if last else sys.maxsize

    def _frame(self, index: int) -> int:
        return _LOG_HEADER + index * (_FRAME_HEADER + self._size)

    def _places(self, first: int, end: int) -> dict[int, int]:
        """Where the last of these frames with each page stands in the log."""
        found: dict[int, int] = {}
        for frame in range(first, end):
            at = self._frame(frame)
            header = self._logged(at, _NUMBER.size)
            if len(header) < _NUMBER.size:
                break
            found[_NUMBER.unpack(header)[0]] = at
        return found

    def _logged(self, at: int, length: int) -> bytes:
        return os.pread(self._log, length, at)

    def _read(self, number: int) -> bytes:
        try:
            return self._file.xRead(self._size, (number - 1) * self._size)
        except apsw.Error:
            return b""
