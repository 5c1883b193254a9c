"""Going on after the files of an open store were removed or replaced: what is kept, and what belongs together.

See `replaced_file_detection.py` for how that is noticed.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

import apsw

from commonplace.errors import CommonplaceError, StoreMissing, StoreReadOnly, StoreReplaced
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.encryption_and_copies import READ_ONLY, READ_WRITE, connect, create_new, make_copy
from commonplace.store.sqlite.replaced_file_detection import LOG, SHARED, Files, FileWatch, Record, State, files_at

REPLACED = "replaced"
_STAMP = "%Y%m%dT%H%M%S"
# A file that was written more recently may not be finished.
_QUIET_NS = 200_000_000


def missing(path: Path, copy: Path | None = None) -> StoreMissing:
    """The database is gone. To begin a new one, what uses it has to be stopped first."""
    where = f" A copy of what it held is {copy}." if copy else ""
    return StoreMissing(f"The store {path} was removed or moved while it was in use.{where}")


def log_removed(path: Path) -> StoreReplaced:
    message = f"The log {path.name}{LOG} of the store {path} was removed while another process was using it."
    return StoreReplaced(message, "That process recovers by itself. Try again; if it persists, restart that process.")


def unsound(path: Path) -> StoreReplaced:
    return StoreReplaced(
        f"The store {path} was overwritten while it was in use, and its content is damaged or unfinished."
    )


def save_open_files(
    watch: FileWatch, state: State, connection: SqliteConnection | None, key: str, busy_ms: int
) -> Path | None:
    """Before the files that are open are closed for good: put into the database, or a copy, what only they hold.

    The lock of the folder is held. StoreReplaced if others still use the removed log.
    """
    files = watch.files
    if connection is None or files is None or files.main is None or state in (State.CURRENT, State.OVERWRITTEN):
        # What was overwritten in place cannot be read any more.
        return None
    if state is not State.LOG_REMOVED:
        return _copy(watch, connection, key, busy_ms)
    found = watch.read()
    if found is not None and files.log is not None and found.log != files.log[1]:
        # Another process has done it.
        return None
    now = files_at(watch.path)
    if found is not None and not found.checkpointing and found.stamp != now.stamp:
        # The database was overwritten too: SQLite removes the log of one that is empty for a moment.
        watch.record_log(0)
        return None
    if now.log not in (None, files.log) and now.log_size:
        # Somebody began another log: folding ours in would mix both.
        copy = _copy(watch, connection, key, busy_ms)
        watch.record(log=0)
        return copy
    watch.record(checkpointing=True)
    try:
        busy, _pages, _moved = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()[0]
    finally:
        watch.record(log=found.log if found else None)
    if busy:
        raise log_removed(watch.path)
    for end in (LOG, SHARED):
        Path(f"{watch.path}{end}").unlink(missing_ok=True)
    watch.record(log=0)
    return None


def _copy(watch: FileWatch, connection: SqliteConnection, key: str, busy_ms: int) -> Path | None:
    """A copy of the open database in the folder of backups, once for all processes that have it open."""
    assert watch.files is not None and watch.files.main is not None
    tag = f"{watch.path.stem}-{watch.files.main[1]:x}-{REPLACED}-"
    folder = watch.path.parent / "backups"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink():
            return None
        for made in folder.glob(f"{tag}*.db"):
            # The inode is ours for as long as we have it open: a later copy of it is of the same file.
            if made.stat().st_mtime >= watch.opened_at:
                return made
        target = folder / f"{tag}{time.strftime(_STAMP, time.gmtime())}.db"
        make_copy(watch.path, target, key, busy_ms, checked=False, original=connection)
    except (OSError, apsw.Error, CommonplaceError):
        # The folder is gone too, or the disk is full.
        return None
    return target


def sort_out(path: Path, files: Files, known: Record, *, used: bool, others: bool) -> bool | None:
    """Before a store is opened: whether its database was overwritten; None if its content has to be settled.

    `used` if it was open when that happened, in this process or in others. The log of another database is put aside.
    StoreReplaced if other processes have to fold in a removed log first.
    """
    log = files.log[1] if files.log else 0
    if files.main is None or known.main != files.main[1]:
        if log and log == known.log:
            # The database was replaced, and this is the log of the one before.
            put_log_aside(path)
        return False
    if others and known.log and log != known.log:
        raise log_removed(path)
    if known.stamp == files.stamp or known.checkpointing:
        return known.stamp != files.stamp and others
    return None if used or (files.log_size and log == known.log) else False


def put_log_aside(path: Path) -> None:
    """Take away a log that belongs to another database; it is kept in the folder of backups."""
    log, folder = Path(f"{path}{LOG}"), path.parent / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink():
        raise StoreReadOnly(f"The folder {folder} for backups is a link.", "Put a folder in its place.")
    if log.exists():
        log.replace(folder / f"{path.stem}-log-{time.strftime(_STAMP, time.gmtime())}.db{LOG}")
    Path(f"{path}{SHARED}").unlink(missing_ok=True)


def settle_content(watch: FileWatch, key: str, busy_ms: int, *, others: bool) -> bool:
    """Of a database that others overwrote: keep its log if both fit together, else put that aside.

    False if the database is not sound either way. StoreReplaced if somebody may still be writing it.
    """
    path = watch.path
    stamp = files_at(path).stamp
    if 0 <= time.time_ns() - stamp[1] < _QUIET_NS:
        raise unsound(path)
    log_fits = _is_sound(path, key, busy_ms=busy_ms)
    if not log_fits and others:
        # They share what they know of the log: that part of it had been folded in, before that was overwritten.
        _read_log_again(watch)
        log_fits = _is_sound(path, key, busy_ms=busy_ms)
    sound = log_fits or _is_sound(path, key, READ_ONLY, "immutable=1")
    if files_at(path).stamp != stamp:
        raise unsound(path)
    if sound and not log_fits:
        put_log_aside(path)
    return sound


def _read_log_again(watch: FileWatch) -> None:
    """Let all of the log count, whatever had been folded in: a copy takes its place, which nobody has open."""
    log, copy = Path(f"{watch.path}{LOG}"), watch.path.with_name(f".{watch.path.name}{LOG}.copy")
    copy.unlink(missing_ok=True)
    create_new(copy)
    shutil.copyfile(log, copy)
    watch.record_log(copy.stat().st_ino)
    copy.replace(log)
    Path(f"{watch.path}{SHARED}").unlink(missing_ok=True)


def _is_sound(path: Path, key: str, flags: int = READ_WRITE, more: str = "", busy_ms: int = 0) -> bool:
    with contextlib.suppress(apsw.Error, OSError), contextlib.closing(connect(path, key, flags, more)) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_timeout(busy_ms)
        # Others who began to write before the file was overwritten finish first, and are part of what is checked.
        connection.execute("BEGIN IMMEDIATE" if flags == READ_WRITE else "BEGIN")
        return int(connection.pragma("user_version")) > 0 and connection.pragma("integrity_check") == "ok"
    return False
