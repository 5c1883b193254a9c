"""Bring a file to this version's schema: numbered SQL files, each in a transaction, with a backup before."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from commonplace.errors import StoreCorrupt, StoreReadOnly, StoreTooNew
from commonplace.store.damaged_values import content_checksum
from commonplace.store.sql.connection import migration_scripts
from commonplace.store.sqlite.connection import SqliteConnection, roll_back
from commonplace.store.sqlite.database import Database
from commonplace.text.plain_form import fingerprint
from commonplace.text.tokens import count_words

# "CmPl": tells our files from other SQLite files.
APPLICATION_ID = 0x436D506C


# (number, name, SQL) of every step, in order.
migrations = functools.partial(migration_scripts, "commonplace.store.sqlite")


def recognise(connection: SqliteConnection) -> None:
    """Refuse a file that is another program's, or a newer version's, before anything in it is changed."""
    # One snapshot: another process may be creating the store at this moment.
    connection.execute("BEGIN")
    try:
        version, application = _version(connection), int(connection.pragma("application_id"))
        used = connection.value("SELECT EXISTS (SELECT 1 FROM sqlite_schema)")
    finally:
        roll_back(connection)
    if application != APPLICATION_ID and (application or version or used):
        raise StoreCorrupt(f"The file {connection.filename} is a database of another program.")
    newest = migrations()[-1][0]
    if version > newest:
        raise StoreTooNew(
            f"The store {connection.filename} has schema {version}; this version of Commonplace knows up to {newest}."
        )


def migrate(database: Database, up_to: int | None = None) -> int:
    """Apply what is missing and return the schema's version. Any number of processes may do this at once."""
    newest = migrations()[-1][0] if up_to is None else up_to
    with database.read() as connection:
        version = _version(connection)
    if version >= newest:
        return version
    with _without_foreign_keys(database), database.write() as connection:
        version = _version(connection)
        backup = _back_up(database, version) if 0 < version < newest else None
        # What scripts may call.
        for name, function in FUNCTIONS.items():
            connection.create_scalar_function(name, function)
        for number, _name, script in migrations():
            if version < number <= newest:
                try:
                    # Drained: apsw stops a script at its first row otherwise.
                    connection.execute(script).fetchall()
                except (apsw.ConstraintError, apsw.SQLError) as error:
                    if not any(mark in str(error) for mark in ("type mismatch", "constraint failed")):
                        raise
                    # SQLite neither adds a column to a strict table that holds a value it would refuse, nor changes
                    # such a row. The file stays as it was, so a copy of it is of no use.
                    if backup is not None:
                        backup.unlink(missing_ok=True)
                    damaged = f"The store {database.path} has damaged rows, and cannot be brought to schema {number}"
                    raise StoreCorrupt(f"{damaged}: {error}.", "Run `commonplace check --fix`.") from error
                connection.pragma("user_version", number)
                connection.pragma("application_id", APPLICATION_ID)
        return max(version, newest)


@contextlib.contextmanager
def _without_foreign_keys(database: Database) -> Iterator[None]:
    """A table can only be built again while foreign keys to it are not enforced; in a transaction that is not heard."""
    connection = database.connection()
    connection.pragma("foreign_keys", False)
    try:
        yield
    finally:
        # It is closed if the file was replaced meanwhile.
        with contextlib.suppress(apsw.ConnectionClosedError):
            connection.pragma("foreign_keys", True)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def check(database: Database) -> int:
    """The schema's version, if it is this version's; nothing is applied."""
    with database.read() as connection:
        version = _version(connection)
    if version != migrations()[-1][0]:
        raise StoreReadOnly(f"The store {database.path} has schema {version} and needs to be migrated.")
    return version


FUNCTIONS: dict[str, Callable[..., int | bytes | str]] = {
    "count_words": lambda *text: count_words(str(text[0])),
    "content_checksum": lambda *parts: content_checksum(*map(_bytes, parts)),
    "text_fingerprint": lambda *text: fingerprint(_bytes(text[0]).decode(errors="replace")),
}


def _version(connection: SqliteConnection) -> int:
    return int(connection.pragma("user_version"))


def _back_up(database: Database, version: int) -> Path:
    """A copy of the file as it is."""
    folder = database.path.parent / "backups"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink():
            raise OSError(f"{folder} is a link")
    except OSError as error:
        raise StoreReadOnly(f"The folder {folder} for a backup before migrating cannot be created: {error}.") from error
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    path = folder / f"{database.path.stem}-schema{version}-{stamp}.db"
    database.backup(path)
    return path
