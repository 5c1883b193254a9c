"""API keys: who they are for, the digests of their secrets, and browser logins that were ended."""

from __future__ import annotations

from typing import Any

from commonplace.model import Key
from commonplace.store.sql import projects
from commonplace.store.sql.space import Space

_SELECT = """
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
            return _key(connection.first(_SELECT + " AND k.id = ?", (self._space_id, key_id)))

    def all_keys(self) -> list[Key]:
        with self._database.read() as connection:
            return [_key(row) for row in connection.rows(_SELECT + " ORDER BY k.id", (self._space_id,))]

    def keys_with_prefix(self, prefix: str) -> list[tuple[Key, bytes]]:
        with self._database.read() as connection:
            rows = connection.rows(_SELECT + " AND k.prefix = ?", (self._space_id, prefix))
            return [(_key(row), bytes(row[-1])) for row in rows]

    def revoke_key(self, key_id: int, now_ms: int) -> Key | None:
        with self._database.write() as connection:
            revoke = "UPDATE keys SET revoked_ms = coalesce(revoked_ms, ?) WHERE space_id = ? AND id = ?"
            connection.run(revoke, (now_ms, self._space_id, key_id))
            row = connection.first(_SELECT + " AND k.id = ?", (self._space_id, key_id))
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
