"""The connections of this process to one database, shared by all of its spaces and threads.

Connections are made by whoever needs one, so that an error reaches the caller with its reason, and kept for the next.
A fork takes none along. Of several hosts the one is taken that takes writes, so that a promoted replica is found.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrDumperUnknown

from commonplace.errors import InvalidInput, StoreBusy
from commonplace.store.postgres.connection import PostgresConnection
from commonplace.store.postgres.error_translation import not_connected

Connection = PostgresConnection

MOST = 10
# What an address does not say. A server that vanished without a word is noticed within seconds instead of hours.
_UNLESS_SAID: dict[str, Any] = {
    "application_name": "commonplace",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


class _Text(StrDumperUnknown):
    """Text without NUL characters: PostgreSQL has none, so that a name with one is the name of nothing."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\ufffd"))


class Pool:
    """At most so many connections, the one used last first."""

    def __init__(self, url: str, most: int = MOST) -> None:
        self.url = url
        self.place = place_of(url)
        given = conninfo_to_dict(url)
        self.has_many_hosts = "," in str(given.get("host") or given.get("hostaddr") or "")
        wanted = {"target_session_attrs": "read-write"} if self.has_many_hosts else {}
        self._address = make_conninfo(**(_UNLESS_SAID | wanted | given))
        self._most = most
        # How often connections were lost. The server may be another one since, and may have lost its latest rows.
        self.breaks = 0
        # What replicas.py knows of the server: how far its log is, when it was asked, until when it is left alone.
        self.reached, self.asked_at, self.away_until = 0, float("-inf"), 0.0
        self._inherited: list[Connection] = []
        self._empty()

    def _empty(self) -> None:
        self._process = os.getpid()
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._free = threading.Semaphore(self._most)
        self._used = self._waiting = 0

    def figures(self) -> dict[str, int]:
        """Connections in use and kept for later, how many callers wait for one, and how many there are at most."""
        return {"in_use": self._used, "idle": len(self._idle), "waiting": self._waiting, "most": self._most}

    @contextlib.contextmanager
    def connection(self, patience: float) -> Iterator[Connection]:
        """A connection for one transaction; StoreBusy if all are in use for too long."""
        if self._process != os.getpid():
            # Those of the parent stay its own: closing them here would end its sessions.
            self._inherited = self._idle
            self._empty()
        free = self._free
        if not self._has_turn(free, patience):
            raise StoreBusy(
                f"All {self._most} connections to {self.place} are in use.",
                "Try again, or raise `database_connections`.",
            )
        try:
            connection = self._take() or self.connect()
            try:
                yield connection
            finally:
                self._give(connection)
        finally:
            self._note(used=-1)
            free.release()

    def _has_turn(self, free: threading.Semaphore, patience: float) -> bool:
        if free.acquire(blocking=False):
            self._note(used=1)
            return True
        self._note(waiting=1)
        got = free.acquire(timeout=patience)
        self._note(waiting=-1, used=int(got))
        return got

    def _note(self, used: int = 0, waiting: int = 0) -> None:
        with self._lock:
            self._used += used
            self._waiting += waiting

    def connect(self) -> Connection:
        try:
            connection = PostgresConnection.connect(self._address, autocommit=True)
            if _is_pooled(connection):
                # What one transaction prepared is not there for the next, or is another's.
                connection.prepare_threshold = None
        except psycopg.Error as error:
            raise not_connected(self.place, error) from error
        connection.adapters.register_dumper(str, _Text)
        return connection

    def drop_idle(self) -> None:
        """Close what nobody uses: the server was away, and none of them is of use any more."""
        with self._lock:
            idle, self._idle = self._idle, []
            self.breaks += 1
        for connection in idle:
            connection.close()

    def _take(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give(self, connection: Connection) -> None:
        """Keep a connection that is as it was when it was made, and no other."""
        if connection.closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.close()
            self.breaks += 1
            return
        with self._lock:
            self._idle.append(connection)


_pools: dict[tuple[int, str], tuple[Pool, int]] = {}
_pools_lock = threading.Lock()


def borrow(url: str, most: int = MOST) -> Pool:
    """This process's pool for a database, made on first use; give it back when done."""
    with _pools_lock:
        pool, users = _pools.get((os.getpid(), url), (None, 0))
        pool = pool or Pool(url, most)
        _pools[os.getpid(), url] = pool, users + 1
        return pool


def give_back(pool: Pool) -> None:
    """The last one to do so closes its connections."""
    with _pools_lock:
        known, users = _pools.get((os.getpid(), pool.url), (None, 0))
        if known is not pool:
            return
        if users > 1:
            _pools[os.getpid(), pool.url] = pool, users - 1
            return
        del _pools[os.getpid(), pool.url]
    pool.drop_idle()


def _is_pooled(connection: Connection) -> bool:
    """Whether a pooler lies between: then whoever answers is not the one who greeted us."""
    try:
        row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    except psycopg.Error:
        connection.close()
        raise
    return row is not None and row[0] != connection.info.backend_pid


def place_of(url: str) -> str:
    """What to call the database when speaking of it: never with its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        parts = {"port": "none"}
    # A mark that is not escaped in a password makes a host or a port of its rest: what was read is not repeated.
    marks = url.partition("://")[2].partition("/")[0].count("@")
    if marks > 1 or not str(parts.get("port") or 0).replace(",", "").isdigit():
        raise InvalidInput(
            "`database_url` cannot be read.",
            "Write it as postgresql://user:<password>@host:5432/database, with %40 for @, %3A for : and %2F for /.",
        )
    port = str(parts.get("port") or 5432)
    named = "" if port == "5432" or "," in port else f":{port}"
    return f"PostgreSQL {parts.get('dbname', '')}@{parts.get('host', 'localhost')}{named}"
