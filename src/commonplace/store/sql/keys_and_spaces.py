"""API keys and spaces: who may reach a space, how much it holds and may hold, and where work is pending.

The statements about spaces are the only ones about more than one of them. On PostgreSQL the role of a space may not run
them: they belong to the owner (`admin_read`, `admin_write`), and return names and numbers only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from commonplace.model import Key
from commonplace.store.maintenance import Limits, SpaceEntry
from commonplace.store.sql import projects
from commonplace.store.sql.connection import Connection, Space
from commonplace.store.types import MAX_EMBED_TRIES

_KEYS = """
SELECT k.id, k.name, k.prefix, k.scopes, p.name, k.created_ms, k.expires_ms, k.revoked_ms, k.used_ms, k.hash
  FROM keys k LEFT JOIN projects p ON p.space_id = k.space_id AND p.id = k.project_id WHERE k.space_id = ?
"""


class ApiKeys(Space):
    """The keys of one space."""

    def add_key(self, key: Key, digest: bytes) -> Key:
        with self._database.write() as connection:
            project_id = None
            if key.project is not None:
                project_id = projects.find_or_create(connection, self._space_id, key.project, key.created_ms)
            key_id = connection.insert(
                "INSERT INTO keys (space_id, name, prefix, hash, scopes, project_id, created_ms, expires_ms)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self._space_id,
                    key.name,
                    key.prefix,
                    digest,
                    key.scope,
                    project_id,
                    key.created_ms,
                    key.expires_ms,
                ),
            )
            return _key(connection.first(_KEYS + " AND k.id = ?", (self._space_id, key_id)))

    def all_keys(self) -> list[Key]:
        with self._database.read() as connection:
            return [_key(row) for row in connection.rows(_KEYS + " ORDER BY k.id", (self._space_id,))]

    def keys_with_prefix(self, prefix: str) -> list[tuple[Key, bytes]]:
        with self._database.read() as connection:
            rows = connection.rows(_KEYS + " AND k.prefix = ?", (self._space_id, prefix))
            return [(_key(row), bytes(row[-1])) for row in rows]

    def revoke_key(self, key_id: int, now_ms: int) -> Key | None:
        with self._database.write() as connection:
            revoke = "UPDATE keys SET revoked_ms = coalesce(revoked_ms, ?) WHERE space_id = ? AND id = ?"
            connection.run(revoke, (now_ms, self._space_id, key_id))
            row = connection.first(_KEYS + " AND k.id = ?", (self._space_id, key_id))
            return None if row is None else _key(row)

    def touch_key(self, key_id: int, now_ms: int) -> None:
        with self._database.write() as connection:
            touch = "UPDATE keys SET used_ms = ? WHERE space_id = ? AND id = ?"
            connection.run(touch, (now_ms, self._space_id, key_id))

    def end_login(self, digest: bytes, until_ms: int, now_ms: int) -> None:
        with self._database.write() as connection:
            connection.run("DELETE FROM visits_over WHERE space_id = ? AND until_ms <= ?", (self._space_id, now_ms))
            connection.run(
                "INSERT INTO visits_over (space_id, hash, until_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (self._space_id, digest, until_ms),
            )

    def is_login_ended(self, digest: bytes) -> bool:
        with self._database.read() as connection:
            ended = "SELECT 1 FROM visits_over WHERE space_id = ? AND hash = ?"
            return connection.first(ended, (self._space_id, digest)) is not None


def _key(row: tuple[Any, ...]) -> Key:
    return Key(*row[:-1])


_SPACES = """
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
            rows = connection.rows(f"{_SPACES}{chosen} ORDER BY s.name", {"now": now_ms, "name": name})
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
