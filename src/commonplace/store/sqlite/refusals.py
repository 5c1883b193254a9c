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
    except CommonplaceError:
        raise
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"The store {path} is locked by another process.") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError) as error:
        raise StoreReadOnly(f"The store {path} cannot be written: {error}.") from error
    except apsw.FullError as error:
        raise full(path) from error
    except apsw.ConstraintError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_CONSTRAINT_TRIGGER:
            # The only one that refuses is `space_full`, in words for people.
            raise QuotaExceeded(str(error)) from error
        raise StoreConstraint from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorrupt(f"The file {path} is damaged or is not a Commonplace store: {error}.") from error
    except UnicodeDecodeError as error:
        raise StoreCorrupt(f"The file {path} has text that is not UTF-8.", "Run `commonplace check`.") from error
    except apsw.InterruptError as error:
        raise TimedOut("The query took longer than its deadline and was interrupted.") from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            raise full(path) from error
        kind = StoreFull if has_no_room(error) else StoreError
        raise kind(f"The disk that holds {path} refused a write or a read: {error}.") from error
    except apsw.Error as error:
        raise StoreError(f"The store refused: {error}.") from error


def has_no_room(error: BaseException) -> bool:
    """Whether a disk refused because it is full. SQLite tells that in several ways."""
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) in _NO_ROOM


def full(path: Path) -> StoreFull:
    return StoreFull(f"The disk that holds {path} is full.")
