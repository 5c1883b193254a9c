"""A new SQLite store is a copy of one that was migrated once: migrating takes longer than most tests do."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import tempfile
from pathlib import Path

import apsw

from commonplace.config import Settings
from commonplace.store.sqlite.store import SqliteStore

# 2025-03-15T14:30:00.000Z, when tests begin.
_MADE_MS = 1_742_049_000_000


def write_new_store(settings: Settings) -> None:
    """Write what opening these settings for the first time would make. PostgreSQL has databases that were emptied."""
    if not settings.database_url and settings.space == "default":
        write_store_file(settings.database)


def write_store_file(path: Path) -> None:
    """Write a new store with an empty default space, unless there is a file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        content, uid = _template()
        # No two stores have the same identity.
        with os.fdopen(file, "wb") as written:
            written.write(content.replace(uid, secrets.token_hex(len(uid) // 2).encode()))


@functools.cache
def _template() -> tuple[bytes, bytes]:
    """A migrated file, and the identity of its space in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        SqliteStore(path, now_ms=_MADE_MS).close()
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            ((uid,),) = connection.execute("SELECT uid FROM spaces").fetchall()
        return path.read_bytes(), str(uid).encode()
