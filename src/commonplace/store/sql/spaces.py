"""The spaces of a database: how much each holds and may hold, where a key belongs, and where work is pending.

These are the only statements about more than one space. On PostgreSQL the role of a space may not run them: they
belong to the owner (`admin_read`, `admin_write`), and return names and numbers only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from commonplace.store.maintenance import Limits, SpaceEntry
from commonplace.store.sql.connection import Connection
from commonplace.store.sql.space import Space
from commonplace.store.types import MAX_EMBED_TRIES

_SELECT = """
SELECT s.name, s.created_ms, u.items, u.bytes,
       (SELECT count(*) FROM keys k WHERE k.space_id = s.id AND k.revoked_ms IS NULL
           AND (k.expires_ms IS NULL OR k.expires_ms > :now)),
       s.max_items, s.max_bytes
  FROM spaces s JOIN space_use u ON u.space_id = s.id
"""
_WITHOUT_VECTORS = f"""EXISTS (
    SELECT 1 FROM jobs j WHERE j.space_id = s.id AND j.kind = 'embed' AND j.tries < {MAX_EMBED_TRIES}
       AND j.lease_until_ms <= :now)"""
# The table `meta` has no column for the space on SQLite, where the space is part of the key.
_UNLINKED = """(SELECT max(p.id) FROM passages p WHERE p.space_id = s.id)
       > coalesce((SELECT CAST(m.value AS bigint) FROM meta m
                    WHERE m.key IN ('linked', 'linked:' || s.id) /*pg AND m.space_id = s.id */), 0)"""


class Spaces(Space):
    """The spaces of the database, seen from one of them."""

    def add_space(self, name: str, now_ms: int, limits: Limits) -> bool:
        with self._database.admin_write() as connection:
            added = connection.run(
                "INSERT INTO spaces (name, created_ms, max_items, max_bytes) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO NOTHING",
                (name, now_ms, limits.items, limits.bytes),
            )
            return bool(added)

    def spaces(self, now_ms: int, name: str | None = None) -> list[SpaceEntry]:
        chosen = "" if name is None else " WHERE s.name = :name"
        with self._database.admin_read() as connection:
            rows = connection.rows(f"{_SELECT}{chosen} ORDER BY s.name", {"now": now_ms, "name": name})
            return [_entry(*row) for row in rows]

    def set_space_limits(self, name: str, limits: Limits) -> bool:
        with self._database.admin_write() as connection:
            change = "UPDATE spaces SET max_items = ?, max_bytes = ? WHERE name = ?"
            return bool(connection.run(change, (limits.items, limits.bytes, name)))

    def spaces_of_key(self, prefix: str) -> Sequence[str]:
        select = "SELECT DISTINCT s.name FROM keys k JOIN spaces s ON s.id = k.space_id WHERE k.prefix = ?"
        with self._database.admin_read() as connection:
            return [row[0] for row in connection.rows(select, (prefix,))]

    def spaces_with_work(self, now_ms: int, *, vectors: bool = True) -> Sequence[str]:
        pending = f"{_WITHOUT_VECTORS} OR {_UNLINKED}" if vectors else _UNLINKED
        with self._database.admin_read() as connection:
            select = f"SELECT s.name FROM spaces s WHERE {pending} ORDER BY s.id"
            return [row[0] for row in connection.rows(select, {"now": now_ms})]


def _entry(
    name: str, created_ms: int, items: int, bytes_: int, keys: int, max_items: int | None, max_bytes: int | None
) -> SpaceEntry:
    return SpaceEntry(name, created_ms, items, bytes_, keys, Limits(max_items, max_bytes))


@contextlib.contextmanager
def unlimited(connection: Connection, space_id: int) -> Iterator[None]:
    """Let a space grow beyond its limits: a secret has to go even if the text that replaces it is longer."""
    check = "UPDATE space_use SET checked = ? WHERE space_id = ?"
    connection.run(check, (False, space_id))
    yield
    connection.run(check, (True, space_id))
