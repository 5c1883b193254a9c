"""One PostgreSQL database, shared by many servers: transactions of one space, and errors.

Every transaction tells the server for which space it is (`commonplace.space`), as a role that row-level security
lets see no other. Those that write do so one at a time in each space, as on SQLite: what is read in a transaction
still holds when it writes, and rows become visible in the order of their ids.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import psycopg

from commonplace.errors import StoreBusy, StoreError
from commonplace.store.postgres.connection import is_cut, translated
from commonplace.store.postgres.pool_and_replicas import (
    MOST,
    PATIENCE,
    WRITTEN,
    Connection,
    Pool,
    Replicas,
    borrow,
    give_back,
    place_of,
)
from commonplace.store.sql.connection import Connection as SharedConnection

# Owns nothing and sees one space; made by the first migration.
MEMBER = "commonplace_member"
# The first key of our advisory locks: "CmPl", as in the SQLite files.
LOCKS = 0x436D506C
_MIGRATION = 0
# Who waited for its turn sees what was written before it, whatever the server's default is.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
# No plan of ours is worth compiling, or starting other processes for.
_SAME_FOR_ALL = "SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0"
_COMMIT = "COMMIT"
# After so many rows that one process wrote it is asked whether tables have doubled since the server looked at them, or
# had fewer rows then than were written since: it may believe them empty.
LOOKED_AT_AFTER = 500
_GROWN = """
SELECT string_agg(relname, ', ') FROM pg_class
 WHERE oid IN ('items'::regclass, 'passages'::regclass, 'words'::regclass, 'vectors'::regclass,
               'token_vectors'::regclass)
   AND (pg_relation_size(oid) / current_setting('block_size')::integer > 100 + 2 * relpages
        OR pg_relation_size(oid) > 0 AND reltuples < ?)
"""

_T = TypeVar("_T")


class Database:
    """Transactions of one space; the connections belong to the process."""

    def __init__(
        self,
        url: str,
        *,
        replicas: Sequence[str] = (),
        durability: str = "full",
        busy_timeout: float = 30.0,
        connections: int = MOST,
    ) -> None:
        for address in (url, *replicas):
            place_of(address)
        self._pool = borrow(url, connections)
        self.replicas = Replicas(replicas, self._pool, connections)
        self.place = self._pool.place
        self.space_id = 0
        # Without it row-level security does nothing: see migrate.py.
        self.confined = False
        self.busy_timeout = busy_timeout
        self._durable = durability == "full"
        self._turn = threading.Lock()
        self._mine = threading.local()
        self._moments = itertools.count(1)
        self._written = 0
        self._closed = False

    @contextlib.contextmanager
    def read(self, deadline: float | None = None) -> Iterator[Connection]:
        """A consistent view. A statement that takes longer than `deadline` seconds is interrupted with TimedOut."""
        current: Connection | None = getattr(self._mine, "connection", None)
        if current is not None:
            with translated(self.place):
                yield current
            return
        begin = ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", *self._confining()]
        if deadline is not None:
            begin.append(f"SET LOCAL statement_timeout = {max(1, int(deadline * 1000))}")
        with self._transaction(begin, self.busy_timeout) as connection:
            connection.snapshot_cache = {}
            try:
                yield connection
            finally:
                connection.snapshot_cache = None

    def on_replica(self, work: Callable[[], _T]) -> _T:
        """Have something read from a replica that has come far enough; else, or if that fails, from the primary."""
        here = getattr(self._mine, "connection", None) is not None or not self.replicas
        replica = None if here else self.replicas.ready()
        if replica is None:
            return work()
        self._mine.replica = replica
        try:
            return work()
        except StoreError as error:
            self.replicas.failed(replica, error)
            self.replicas.fallbacks += 1
        finally:
            self._mine.replica = None
        return work()

    @contextlib.contextmanager
    def write(self, patience: float | None = None, *, alone: bool = True, durable: bool = True) -> Iterator[Connection]:
        """One transaction: everything in the block happens, or nothing; StoreBusy if its turn does not come in time.

        Not `alone`: beside other writers of the space, for those who lock the rows that they change.
        """
        wait = self.busy_timeout if patience is None else patience
        begin = [_BEGIN, *self._confining(), f"SET LOCAL lock_timeout = {max(1, int(wait * 1000))}"]
        if not (durable and self._durable):
            begin.append("SET LOCAL synchronous_commit = off")
        # Where to find it in the log, for those who look for it on a replica; what may be undone is not looked for.
        commit = f"COMMIT; {WRITTEN}" if durable and self.replicas else _COMMIT
        if not alone:
            with self._transaction(begin, wait, commit) as connection:
                yield connection
            return
        begin.append(f"SELECT pg_advisory_xact_lock({LOCKS}, {self.space_id})")
        if not self._turn.acquire(timeout=wait):
            raise StoreBusy(f"The space in {self.place} is being written.")
        try:
            with self._transaction(begin, wait, commit) as connection:
                yield connection
        finally:
            self._turn.release()

    @contextlib.contextmanager
    def write_relaxed(self, patience: float) -> Iterator[Connection]:
        with self.write(patience, durable=False) as connection:
            yield connection

    @contextlib.contextmanager
    def admin_write(self, patience: float | None = None) -> Iterator[Connection]:
        """A transaction of whoever owns the tables, alone among all servers: to make tables and spaces."""
        begin = [_BEGIN, f"SET LOCAL lock_timeout = {int(self.busy_timeout * 1000)}"]
        begin.append(f"SELECT pg_advisory_xact_lock({LOCKS}, {_MIGRATION})")
        with self._transaction(begin, self.busy_timeout) as connection:
            yield connection

    @contextlib.contextmanager
    def admin_read(self) -> Iterator[Connection]:
        """The same to look only."""
        with self._transaction(["BEGIN READ ONLY"], self.busy_timeout) as connection:
            yield connection

    def vacuum(self, tables: Sequence[str]) -> bool:
        """Clear away the rows of these tables that are no more. False if another transaction may still see some."""
        with translated(self.place), self._pool.connection(self.busy_timeout) as connection:
            (since,) = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::xid").fetchone() or (None,)
            connection.execute(f"VACUUM {', '.join(tables)}".encode())
            older = connection.execute(
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND age(backend_xmin) > age(%s::xid)",
                (since,),
            )
            return older.fetchone() is None

    def wrote(self, rows: int) -> None:
        """Told of rows that were written: after many of them the server looks at its tables again.

        It would by itself, within minutes, unless somebody has switched that off; until then it plans for tables as
        they were, and searches in those that it believes empty for longer than anybody waits.
        """
        self._written += rows
        if self._written < LOOKED_AT_AFTER:
            return
        written, self._written = self._written, 0
        with contextlib.suppress(psycopg.Error, StoreError), self._pool.connection(self.busy_timeout) as connection:
            if grown := connection.value(_GROWN, (written,)):
                connection.run(f"ANALYZE {grown}")

    def note_position(self, connection: SharedConnection) -> None:
        self.replicas.note_now(connection)

    @property
    def moment(self) -> int:
        """The number of this thread's transaction: a later one sees at least what an earlier one saw."""
        return int(self._mine.moment)

    @property
    def breaks(self) -> int:
        """Changes when the server may have been another one before, that had rows which are no more."""
        return self._pool.breaks

    def connections(self) -> dict[str, int]:
        """How this process uses those to the primary, and how often it asked there for want of a replica."""
        return {**self._pool.figures(), "replica_fallbacks": self.replicas.fallbacks}

    def close(self) -> None:
        """Give back the connections, once: others of this process may still use them."""
        if not self._closed:
            self._closed = True
            self.replicas.close()
            give_back(self._pool)

    def _confining(self) -> list[str]:
        """What limits a transaction to the space, until its end: connections are shared with other spaces."""
        space = f"SET LOCAL commonplace.space = '{self.space_id}'"
        return [space, f"SET LOCAL ROLE {MEMBER}"] if self.confined else [space]

    @contextlib.contextmanager
    def _transaction(self, begin: list[str], patience: float, commit: str = _COMMIT) -> Iterator[Connection]:
        script = "; ".join([begin[0], _SAME_FOR_ALL, *begin[1:]])
        with translated(self.place), self._begun(script, patience) as connection:
            self._mine.connection, self._mine.moment = connection, next(self._moments)
            try:
                yield connection
                answer = connection.execute(commit.encode())
                if answer.nextset():
                    self.replicas.note(*answer.fetchone() or (0,))
            except BaseException:
                if not connection.closed:
                    with contextlib.suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                raise
            finally:
                self._mine.connection = None

    @contextlib.contextmanager
    def _begun(self, script: str, patience: float) -> Iterator[Connection]:
        """A connection in a new transaction. Idle ones may have died with the server: then a new one is made."""
        replica: Pool | None = getattr(self._mine, "replica", None)
        if replica is not None:
            with replica.connection(PATIENCE) as connection:
                connection.execute(script.encode())
                yield connection
            return
        with self._pool.connection(patience) as connection:
            if self._begins(connection, script):
                yield connection
                return
            connection.close()
            self._pool.drop_idle()
        with self._pool.connection(patience) as connection:
            connection.execute(script.encode())
            yield connection

    def _begins(self, connection: Connection, script: str) -> bool:
        """Not if the connection is gone, or another host has taken over from its server: a new one may do better."""
        try:
            connection.execute(script.encode())
            return not (self._pool.has_many_hosts and connection.value("SELECT pg_is_in_recovery()"))
        except psycopg.Error as error:
            if is_cut(error):
                return False
            connection.execute("ROLLBACK")
            raise
