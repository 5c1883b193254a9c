"""The spaces of the database: how much each holds and may hold, where a key belongs, and where work waits.

These are the only statements about more than one space. The role of a space cannot ask them: they are the owner's
(`looking`, `owning`), and tell names and numbers. What a space holds is read as its own role alone, the key too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from commonplace.store.maintenance import Limits, SpaceEntry
from commonplace.store.postgres import sql
from commonplace.store.postgres.jobs import MAX_TRIES
from commonplace.store.postgres.pool import Connection
from commonplace.store.postgres.space import PostgresSpace

_SELECT = """
SELECT s.name, s.created_ms, u.items, u.bytes,
       (SELECT count(*) FROM keys k WHERE k.space_id = s.id AND k.revoked_ms IS NULL
           AND coalesce(k.expires_ms > %(now)s, true)),
       s.max_items, s.max_bytes
  FROM spaces s JOIN space_use u ON u.space_id = s.id
"""
_WAITING = f"""
SELECT s.name FROM spaces s
 WHERE %(vectors)s AND EXISTS (SELECT 1 FROM jobs j WHERE j.space_id = s.id AND j.kind = 'embed'
                                AND j.tries < {MAX_TRIES} AND j.lease_until_ms <= %(now)s)
    OR (SELECT max(p.id) FROM passages p WHERE p.space_id = s.id)
       > coalesce((SELECT m.value::bigint FROM meta m WHERE m.space_id = s.id AND m.key = 'linked'), 0)
 ORDER BY s.id
"""


class Spaces(PostgresSpace):
    """The engine's part about other spaces."""

    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool:
        with self._database.admin_write() as connection:
            made = sql.run(
                connection,
                "INSERT INTO spaces (name, created_ms, max_items, max_bytes) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (name) DO NOTHING",
                (name, now_ms, limits.items, limits.bytes),
            )
            return bool(made)

    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]:
        here = "" if name is None else " WHERE s.name = %(name)s"
        with self._database.admin_read() as connection:
            rows = sql.rows(connection, f"{_SELECT}{here} ORDER BY s.name", {"now": now_ms, "name": name})
            return [_entry(*row) for row in rows]

    def set_space_limits(self, name: str, limits: Limits) -> bool:
        with self._database.admin_write() as connection:
            change = "UPDATE spaces SET max_items = %s, max_bytes = %s WHERE name = %s"
            return bool(sql.run(connection, change, (limits.items, limits.bytes, name)))

    def spaces_of_key(self, prefix: str) -> Sequence[str]:
        question = "SELECT DISTINCT s.name FROM keys k JOIN spaces s ON s.id = k.space_id WHERE k.prefix = %s"
        with self._database.admin_read() as connection:
            return [row[0] for row in sql.rows(connection, question, (prefix,))]

    def spaces_with_work(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]:
        with self._database.admin_read() as connection:
            return [row[0] for row in sql.rows(connection, _WAITING, {"now": now_ms, "vectors": vectors})]


def _entry(
    name: str, created_ms: int, items: int, bytes_: int, keys: int, max_items: int | None, max_bytes: int | None
) -> SpaceEntry:
    return SpaceEntry(name, created_ms, items, bytes_, keys, Limits(max_items, max_bytes))


@contextlib.contextmanager
def unlimited(connection: Connection, space_id: int) -> Iterator[None]:
    """Let a space grow beyond what it may hold: a secret must go, even where its mark is longer than it was."""
    check = "UPDATE space_use SET checked = %s WHERE space_id = %s"
    sql.run(connection, check, (False, space_id))
    yield
    sql.run(connection, check, (True, space_id))
