"""Files that SQLite is to open: readable by their owner only, and unlocked with their key if they have one."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from commonplace.errors import StoreError, StoreLocked, StoreReadOnly
from commonplace.store.sqlite.connection import SqliteConnection

LOG_ENDS = ("-wal", "-shm")
READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_PLAIN = b"SQLite format 3\0"
INSTALL = "Put ours in its place: pip uninstall apsw, then pip install --force-reinstall apsw-sqlite3mc."


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
    connection = SqliteConnection(address(path, more), flags=flags)
    if key:
        unlock(connection, key)
    return connection


def unlock(connection: SqliteConnection, key: str) -> None:
    """Read and write with this key from now on. Another package called apsw, without ciphers, would not tell."""
    if not hasattr(apsw, "mc_version"):
        connection.close()
        raise StoreError("The store is encrypted, and the SQLite that is installed here cannot read that.", INSTALL)
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
        return StoreLocked(f"The store {path} is not encrypted, and a key is set for it.", hint)
    return StoreLocked(f"The key that is set does not open the store {path}.")
