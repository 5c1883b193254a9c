"""What SQLite raises about a file, as errors of ours.

SQLite reports a refused write in several ways that do not tell why. So the place of the file is asked: whether it is
read-only, whether it has room, or whether the disk itself failed.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw

from commonplace.data_folder import on_read_only_disk, read_only_files
from commonplace.errors import (
    CommonplaceError,
    QuotaExceeded,
    StoreBusy,
    StoreConstraint,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    TimedOut,
)

_FAILED_WRITES = (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_SHMSIZE)
# Of a quota and of the limit of a process, too.
_NO_ROOM = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
# With less free, a write is refused for that.
_LEAST_ROOM = 1 << 20


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise what SQLite raises about a file as ours."""
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise refusal(path, error) from error


def refusal(path: Path, error: Exception, number: int = 0) -> CommonplaceError:
    """Our error for what SQLite raised about a file. `number` is the system's error, if it is known."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"The store {path} is locked by another process.")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            return read_only(path) or StoreReadOnly(f"The store {path} cannot be written: {error}.")
        case apsw.ConstraintError():
            # The only trigger that refuses is `space_full`, in words for people.
            trigger = getattr(error, "extendedresult", 0) == apsw.SQLITE_CONSTRAINT_TRIGGER
            return QuotaExceeded(str(error)) if trigger else StoreConstraint()
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreCorrupt(f"The file {path} is damaged or is not a Commonplace store: {error}.")
        case UnicodeDecodeError():
            return StoreCorrupt(f"The file {path} has text that is not UTF-8.", "Run `commonplace check`.")
        case apsw.InterruptError():
            return TimedOut("The query took longer than its deadline and was interrupted.")
        case apsw.FullError() | apsw.IOError():
            if has_no_room(path, error, number):
                return full(path)
            refused = read_only(path) if failed_to_write(error) else None
            return refused or StoreError(
                f"The disk of {path} failed to read or write: {error}.",
                "The disk itself reports an error. Look at the log of the system, and copy your backups elsewhere.",
            )
    return StoreError(f"The store refused: {error}.")


def failed_to_write(error: BaseException) -> bool:
    """Whether SQLite could not write to a file, for whatever reason."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) in _FAILED_WRITES


def has_no_room(path: Path, error: BaseException, number: int = 0) -> bool:
    """Whether SQLite could not write to a file because the disk is full."""
    if isinstance(error, apsw.FullError):
        return True
    if not failed_to_write(error):
        return False
    if number in _NO_ROOM:
        return True
    return not on_read_only_disk(path.parent) and shutil.disk_usage(path.parent).free < _LEAST_ROOM


def read_only(path: Path) -> StoreReadOnly | None:
    """Why a file may not be written; None if it may."""
    if on_read_only_disk(path.parent):
        return StoreReadOnly(
            f"The store {path} is on a file system that is read-only.",
            "Make it writable (a disk with errors is often mounted so), or point --data-dir elsewhere."
            " Nothing was written.",
        )
    if not path.parent.is_dir() or not (found := read_only_files(path)):
        return None
    named = ", ".join(map(str, found))
    return StoreReadOnly(
        f"The store {path} cannot be written. Read-only: {named}.",
        "Make that writable, or run `commonplace doctor store --fix`. Nothing was written.",
    )


def not_writable(path: Path) -> StoreError:
    """Why a file could only be opened for reading."""
    return read_only(path) or full(path)


def full(path: Path) -> StoreFull:
    return StoreFull(f"The disk of {path} is full.")
