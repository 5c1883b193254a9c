"""The connections of one process to one file: one for each thread, and how each of them is set up."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import apsw

from commonplace.store.sqlite.connection import SqliteConnection


class Connections:
    """One connection per thread, known by thread so that closing reaches every one of them."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._of: dict[threading.Thread, SqliteConnection] = {}

    def mine(self) -> SqliteConnection | None:
        return getattr(self._local, "connection", None)

    def keep(self, connection: SqliteConnection) -> None:
        """Remember this thread's connection, and close those of threads that have ended."""
        self._local.connection = connection
        with self._lock:
            for thread in [thread for thread in self._of if not thread.is_alive()]:
                close_quietly(self._of.pop(thread))
            self._of[threading.current_thread()] = connection

    def any(self) -> SqliteConnection | None:
        """One that is not in use; there may be none."""
        with self._lock:
            return next((one for one in self._of.values() if not one.in_transaction), None)

    def close(self, *, fold: bool) -> None:
        with self._lock:
            while self._of:
                connection = self._of.popitem()[1]
                with contextlib.suppress(apsw.Error):
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, not fold)
                close_quietly(connection)


def set_up(connection: SqliteConnection) -> None:
    """What every connection has, also one that only reads."""
    connection.pragma("foreign_keys", True)
    connection.pragma("recursive_triggers", True)
    connection.pragma("trusted_schema", False)
    connection.pragma("temp_store", 2)
    connection.pragma("cache_size", -8192)
    # The full-text rows that a question is limited to (scope.py).
    connection.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")


def roll_back(connection: SqliteConnection) -> None:
    """End a transaction without it, unless an error ended it already, such as a full disk."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def close_quietly(connection: SqliteConnection) -> None:
    with contextlib.suppress(apsw.Error):
        connection.close()


def patiently(step: Callable[[], object], seconds: float) -> None:
    """Repeat a step that may meet a lock which SQLite itself would not wait for."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        try:
            step()
            return
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
            pause.wait(0.01)
