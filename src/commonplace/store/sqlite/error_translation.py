"""SQLite's errors as ours, so that no other room has to know apsw."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw

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

_NO_ROOM = (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_SHMSIZE)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise what SQLite raises about a file as ours."""
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise refusal(path, error) from error


def refusal(path: Path, error: Exception) -> CommonplaceError:
    """Our error for what SQLite raised about a file."""
    extended = getattr(error, "extendedresult", 0)
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"The store {path} is locked by another process.")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.CantOpenError():
            return StoreReadOnly(f"The store {path} cannot be written: {error}.")
        case apsw.FullError():
            return full(path)
        case apsw.ConstraintError():
            # The only trigger that refuses is `space_full`, in words for people.
            return QuotaExceeded(str(error)) if extended == apsw.SQLITE_CONSTRAINT_TRIGGER else StoreConstraint()
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreCorrupt(f"The file {path} is damaged or is not a Commonplace store: {error}.")
        case UnicodeDecodeError():
            return StoreCorrupt(f"The file {path} has text that is not UTF-8.", "Run `commonplace check`.")
        case apsw.InterruptError():
            return TimedOut("The query took longer than its deadline and was interrupted.")
        case apsw.IOError() if extended == apsw.SQLITE_IOERR_SHMSIZE:
            return full(path)
        case apsw.IOError():
            kind = StoreFull if has_no_room(error) else StoreError
            return kind(f"The disk of {path} failed to read or write: {error}.")
    return StoreError(f"The store refused: {error}.")


def has_no_room(error: BaseException) -> bool:
    """Whether a disk refused because it is full. SQLite tells that in several ways."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) in _NO_ROOM


def full(path: Path) -> StoreFull:
    return StoreFull(f"The disk of {path} is full.")
