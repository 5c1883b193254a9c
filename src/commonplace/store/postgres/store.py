"""The PostgreSQL engine: a store in one database of a server."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.store.postgres.fulltext import FullText
from commonplace.store.postgres.integrity import PostgresIntegrity
from commonplace.store.postgres.space import use_replicas
from commonplace.store.postgres.vector_search import Vectors
from commonplace.store.sql.shared_store import SharedStore


@use_replicas
class PostgresStore(
    SharedStore,
    FullText,
    Vectors,
    PostgresIntegrity,
):
    """One space of one PostgreSQL database, shared with any number of other servers."""

    def describe(self) -> Mapping[str, object]:
        with self._database.read() as connection:
            return {
                "engine": "postgres",
                "version": connection.value("SHOW server_version"),
                "path": self._database.place,
                "schema": self.schema,
                "row_security": self._database.confined,
                "connections": self._database.connections(),
                **({"replicas": self._database.replicas.states()} if self._database.replicas else {}),
            }

    def for_space(self, name: str) -> PostgresStore:
        return PostgresStore(**self._opened, space=name, migrate=False)

    def close(self) -> None:
        self._database.close()
