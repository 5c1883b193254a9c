"""Servers that follow the primary and answer searches in its place, as far as they have come.

One is asked only if it has replayed what this process wrote to the space, whatever news it told of it, and all that
others had written to the primary `LAG_SECONDS` before. If it is behind, away, or fails, the primary is asked.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import psycopg

from commonplace.errors import StoreBusy, StoreError
from commonplace.store.postgres.pool import Pool, borrow, give_back
from commonplace.store.sql.connection import Connection as SharedConnection

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
