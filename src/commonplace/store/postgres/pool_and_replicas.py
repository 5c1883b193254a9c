"""The connections of this process to one database and its replicas, shared by all of its spaces and threads.

Connections are made by whoever needs one, so that an error reaches the caller with its reason, and kept for the next.
A fork takes none along. Of several hosts the one is taken that takes writes, so that a promoted replica is found.

A replica is asked in place of the primary only if it has replayed what this process wrote to the space, whatever news
it told of it, and all that others had written to the primary `LAG_SECONDS` before. If it is behind, away, or fails, the
primary is asked.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrDumperUnknown

from commonplace.errors import InvalidInput, StoreBusy, StoreError
from commonplace.store.postgres.connection import PostgresConnection, not_connected
from commonplace.store.sql.connection import Connection as SharedConnection

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
        # What `Replicas` knows of the server: how far its log is, when it was asked, until when it is left alone.
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


LAG_SECONDS = 1.0
# How long one that failed is left alone.
AWAY_SECONDS = 10.0
# The primary is there as well, so that nobody has to wait for a connection.
PATIENCE = 0.1

# Places in the log, as numbers. What was committed without waiting for the disk is only inserted at first.
WRITTEN = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
_SAFE = "SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint"
# One that was promoted follows nobody any more, and has all that it has.
_REPLAYED = """
SELECT coalesce(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END
                - '0/0', 0)::bigint
"""


class Replicas:
    """Those of one space. What is known of a server is shared with the other spaces of the process, by its pool."""

    def __init__(self, urls: Sequence[str], primary: Pool, connections: int) -> None:
        self._primary = primary
        self._pools = [borrow(url, connections) for url in urls]
        self._turns = itertools.count()
        self._seen = 0
        self.fallbacks = 0
        """How often the primary was asked in their place."""

    def __bool__(self) -> bool:
        return bool(self._pools)

    def note(self, place: int) -> None:
        """Somebody knows of what was written up to there, and will look for it."""
        self._seen = max(self._seen, place)

    def note_now(self, connection: SharedConnection) -> None:
        """The same for all that a connection to the primary has shown by now."""
        if self._pools:
            self.note(connection.value(WRITTEN))

    def ready(self) -> Pool | None:
        """One that has come far enough, each in its turn; None if only the primary will do."""
        first = next(self._turns)
        for n in range(len(self._pools)):
            pool = self._pools[(first + n) % len(self._pools)]
            now = time.monotonic()
            if pool.away_until <= now and self._has_come_far_enough(pool, now):
                return pool
        self.fallbacks += 1
        return None

    def failed(self, pool: Pool, error: StoreError) -> None:
        """Leave one alone for a while, unless it only had too much to do."""
        if not isinstance(error, StoreBusy):
            pool.away_until = time.monotonic() + AWAY_SECONDS
            pool.reached = 0
            pool.drop_idle()

    def states(self) -> dict[str, str]:
        """How each one is, for people."""
        return {pool.place: self._state(pool, time.monotonic()) for pool in self._pools}

    def close(self) -> None:
        for pool in self._pools:
            give_back(pool)

    def _state(self, pool: Pool, now: float) -> str:
        if pool.away_until <= now and self._has_come_far_enough(pool, now):
            return "in use"
        return "away" if pool.away_until > now else "behind"

    def _has_come_far_enough(self, pool: Pool, now: float) -> bool:
        try:
            if self._primary.asked_at < now - LAG_SECONDS:
                self._primary.reached, self._primary.asked_at = _place(self._primary, _SAFE), now
        except (psycopg.Error, StoreError):
            # Whoever asks the primary next is told.
            return False
        needed = max(self._seen, self._primary.reached)
        if pool.away_until:
            # One of the threads finds out whether it is back.
            pool.away_until = now + AWAY_SECONDS
        elif pool.reached >= needed:
            return True
        try:
            pool.reached = _place(pool, _REPLAYED)
        except StoreError as error:
            self.failed(pool, error)
            return False
        except psycopg.Error as error:
            self.failed(pool, StoreError(str(error)))
            return False
        pool.away_until = 0.0
        return pool.reached >= needed


def _place(pool: Pool, question: str) -> int:
    with pool.connection(PATIENCE) as connection:
        return int(connection.value(question))
