"""The spaces of the file: how much each holds and may hold, where a key belongs, and where work waits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from commonplace.store.maintenance import Limits, SpaceEntry
from commonplace.store.sqlite import sql
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.jobs import MAX_TRIES
from commonplace.store.sqlite.space import SqliteSpace

_SELECT = """
SELECT s.name, s.created_ms, u.items, u.bytes,
       (SELECT count(*) FROM keys k WHERE k.space_id = s.id AND k.revoked_ms IS NULL
           AND coalesce(k.expires_ms > ?1, 1)),
       s.max_items, s.max_bytes
  FROM spaces s JOIN space_use u ON u.space_id = s.id
"""
_WAITING = f"""
SELECT name FROM spaces s
 WHERE ?2 AND EXISTS (SELECT 1 FROM jobs j WHERE j.space_id = s.id AND j.kind = 'embed' AND j.tries < {MAX_TRIES}
                  AND j.lease_until_ms <= ?1)
    OR (SELECT max(p.id) FROM passages p WHERE p.space_id = s.id)
       > coalesce((SELECT CAST(m.value AS INTEGER) FROM meta m WHERE m.key = 'linked:' || s.id), 0)
 ORDER BY s.id
"""


class Spaces(SqliteSpace):
    """The engine's part about other spaces."""

    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool:
        with self._database.write() as connection:
            made = sql.rows(
                connection,
                "INSERT INTO spaces (name, created_ms, max_items, max_bytes) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO NOTHING RETURNING id",
                (name, now_ms, limits.items, limits.bytes),
            )
            return bool(made)

    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]:
        with self._database.read() as connection:
            rows = sql.rows(connection, _SELECT + " WHERE ?2 IS NULL OR s.name = ?2 ORDER BY s.name", (now_ms, name))
            return [_entry(*row) for row in rows]

    def set_space_limits(self, name: str, limits: Limits) -> bool:
        with self._database.write() as connection:
            change = "UPDATE spaces SET max_items = ?, max_bytes = ? WHERE name = ? RETURNING id"
            return bool(sql.rows(connection, change, (limits.items, limits.bytes, name)))

    def spaces_of_key(self, prefix: str) -> Sequence[str]:
        question = "SELECT DISTINCT s.name FROM keys k JOIN spaces s ON s.id = k.space_id WHERE k.prefix = ?"
        with self._database.read() as connection:
            return [row[0] for row in sql.rows(connection, question, (prefix,))]

    def spaces_with_work(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]:
        with self._database.read(self._query_timeout) as connection:
            return [row[0] for row in sql.rows(connection, _WAITING, (now_ms, vectors))]


def _entry(
    name: str, created_ms: int, items: int, bytes_: int, keys: int, max_items: int | None, max_bytes: int | None
) -> SpaceEntry:
    return SpaceEntry(name, created_ms, items, bytes_, keys, Limits(max_items, max_bytes))


@contextlib.contextmanager
def unlimited(connection: SqliteConnection, space_id: int) -> Iterator[None]:
    """Let a space grow beyond what it may hold: a secret must go, even where its mark is longer than it was."""
    check = "UPDATE space_use SET checked = ? WHERE space_id = ?"
    connection.execute(check, (0, space_id))
    yield
    connection.execute(check, (1, space_id))
