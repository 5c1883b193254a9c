"""Files that SQLite is to open: created for their owner only, unlocked with their key if they have one, and copied.

A copy is made through SQLite's online backup, and checked before it gets its name: plain copies of files lose what is
in the log, and locks.
"""

from __future__ import annotations

import contextlib
import operator
import os
import secrets
from pathlib import Path

import apsw

from commonplace.data_folder import on_read_only_disk
from commonplace.errors import StoreCorrupt, StoreError, StoreLocked, StoreReadOnly
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.file_errors import failed_to_write, refusal

LOG_ENDS = ("-wal", "-shm")
READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
# apsw forgets a prepared statement when so many others were run since, the same ones again included. A context alone
# runs fifty, so that its usual 100 made a server that is asked this and that prepare every fifth statement anew.
STATEMENTS = 500
_PLAIN = b"SQLite format 3\0"
INSTALL = "Put ours in its place: pip uninstall apsw, then pip install --force-reinstall apsw-sqlite3mc."
# What SQLite says of a value that its table does not allow. The pages are whole: such a row is damaged, not the file.
ROW_PROBLEMS = ("CHECK constraint failed in", "NULL value in ", "value in ")
COUNTED = ("items", "sessions", "history", "projects", "passages")
COUNT_ROWS = f"SELECT {', '.join(f'(SELECT count(*) FROM {table})' for table in COUNTED)}"


def create_private(path: Path) -> None:
    """Make the file readable by its owner only before SQLite would make it by the umask. One that is there stays."""
    create_folder(path)
    try:
        create_new(path)
    except FileExistsError:
        if path.is_symlink():
            hint = "Put the file itself there, or point --data-dir at its folder."
            raise StoreReadOnly(f"The store {path} is a link.", hint) from None
        return
    except OSError as error:
        raise StoreReadOnly(f"The data folder {path.parent} cannot be written: {error.strerror}.") from error


def create_folder(path: Path) -> None:
    """The folder of a file, for its owner only. One that is there stays."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreReadOnly(f"The data folder {path.parent} cannot be written: {error.strerror}.") from error


def create_new(path: Path) -> None:
    """Make a file that nobody has put there before; a link that waits for us is refused."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def connect(path: Path, key: str = "", flags: int = READ_WRITE, more: str = "") -> SqliteConnection:
    """A connection to a file, unlocked. `more` is added to its address, such as `immutable=1`."""
    connection = SqliteConnection(address(path, more), flags=flags, statementcachesize=STATEMENTS)
    if key:
        unlock(connection, key)
    return connection


def unlock(connection: SqliteConnection, key: str) -> None:
    """Read and write with this key from now on. Another package called apsw, without ciphers, would not tell."""
    if not hasattr(apsw, "mc_version"):
        connection.close()
        raise StoreError("The store is encrypted, and the installed SQLite cannot read it.", INSTALL)
    connection.pragma("key", spelled(key))


def spelled(key: str) -> str:
    """A key as SQLite takes it: as it is, since one that nobody can remember needs no stretching."""
    return f"raw:{key}" if key else ""


def address(path: Path, more: str = "") -> str:
    """A file as SQLite is told of it."""
    return path.absolute().as_uri() + (f"?{more}" if more else "")


def is_plain(path: Path) -> bool:
    """Whether a file can be read without a key. One that is new or empty can."""
    try:
        with path.open("rb") as file:
            return file.read(len(_PLAIN)) in (_PLAIN, b"")
    except FileNotFoundError:
        return True


def is_log_empty(path: Path) -> bool:
    """Whether everything is in the file itself, and nothing in its log."""
    log = path.with_name(path.name + "-wal")
    return not log.exists() or not log.stat().st_size


def locked(path: Path) -> StoreLocked:
    """Why a key does not open a file: to SQLite neither is a database then."""
    if is_plain(path):
        hint = "`commonplace encrypt` encrypts it; or set `encryption` to off."
        return StoreLocked(f"The store {path} is not encrypted, but a key is set for it.", hint)
    return StoreLocked(f"The configured key does not open the store {path}.")


def is_whole(connection: SqliteConnection) -> bool:
    """Whether the pages of a file are; rows may be damaged."""
    lines = [str(row[0]) for row in connection.rows("PRAGMA quick_check")]
    return all(line == "ok" or any(mark in line for mark in ROW_PROBLEMS) for line in lines)


def make_copy(
    source: Path,
    target: Path,
    key: str,
    busy_ms: int,
    *,
    to_key: str | None = None,
    checked: bool = True,
    original: SqliteConnection | None = None,
) -> None:
    """Copy what is committed in a store, through a connection of its own, or one that keeps all others out.

    With another key, or none, the copy has that one. `checked` refuses a copy that is not whole: one of a damaged
    store is wanted as it is.
    """
    # Several processes may back up to the same name at once; each writes its own and the last one stays. Nobody can
    # tell its name before: in a folder of many, somebody might have put a link there.
    partial = target.with_name(f"{target.name}.{secrets.token_hex(8)}.partial")
    to_key = key if to_key is None else to_key
    with contextlib.ExitStack() as stack:
        if original is None:
            as_it_lies = "immutable=1" if on_read_only_disk(source.parent) and is_log_empty(source) else ""
            original = stack.enter_context(contextlib.closing(connect(source, key, READ_ONLY, as_it_lies)))
            original.set_busy_timeout(busy_ms)
        try:
            # What is counted is what is copied. Vacuuming cannot be a part of a transaction.
            turned = to_key != key
            original.execute("" if turned else "BEGIN")
            held = original.first(COUNT_ROWS) if checked else None
            (_copy_with_other_key if turned else _copy)(original, partial, to_key)
            original.execute("" if turned else "ROLLBACK")
            if checked:
                _verify(partial, to_key, held, exactly=not turned)
            partial.replace(target)
        except apsw.Error as error:
            if not failed_to_write(error):
                raise
            # Nothing is written but the copy.
            raise refusal(target, error) from error
        finally:
            for leftover in (partial, *(partial.with_name(partial.name + end) for end in (*LOG_ENDS, "-journal"))):
                leftover.unlink(missing_ok=True)


def _copy(original: SqliteConnection, partial: Path, key: str) -> None:
    create_new(partial)
    with contextlib.closing(connect(partial, key)) as copy:
        with copy.backup("main", original, "main") as backup:
            backup.step(-1)
        # One file, without a log beside it.
        copy.pragma("journal_mode", "delete")


def _copy_with_other_key(original: SqliteConnection, partial: Path, key: str) -> None:
    """A copy with another key: pages cannot be copied as they are."""
    create_new(partial)
    original.execute("VACUUM INTO ?", (address(partial, f"key={spelled(key)}"),))


def _verify(path: Path, key: str, held: tuple[int, ...] | None, *, exactly: bool) -> None:
    with contextlib.closing(connect(path, key)) as copy:
        if not is_whole(copy):
            raise StoreCorrupt(
                f"The copy {path.name} failed its check; the store may be damaged.", "Run `commonplace check`."
            )
        copied: tuple[int, ...] = copy.first(COUNT_ROWS)
        # Others may have written more since it was counted.
        if held is not None and (copied != held if exactly else any(map(operator.lt, copied, held))):
            raise StoreCorrupt(f"The copy {path.name} does not match the store.", "Try again.")
