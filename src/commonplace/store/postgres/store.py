"""The PostgreSQL engine: a store in one database of a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from commonplace.model import Kind
from commonplace.store.postgres.fulltext import FullText
from commonplace.store.postgres.integrity import PostgresIntegrity
from commonplace.store.postgres.space import use_replicas
from commonplace.store.postgres.vector_search import Vectors
from commonplace.store.sql.connection import Connection
from commonplace.store.sql.items import Filter
from commonplace.store.sql.shared_store import SharedStore
from commonplace.text.dates import DAY_MS


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

    def _count_by_day(
        self, connection: Connection, filter_: Filter, from_ms: int, to_ms: int
    ) -> Iterable[tuple[int, Kind, int]]:
        """Grouped by the server, which does so in one pass."""
        condition, bindings = filter_.sql(connection)
        return connection.rows(
            f"SELECT CAST(floor(i.created_ms / {DAY_MS}.0) AS bigint) AS day, i.kind, count(*) FROM items i"
            f" WHERE i.space_id = ? AND {condition} AND i.created_ms >= ? AND i.created_ms < ? GROUP BY day, i.kind",
            [self._space_id, *bindings, from_ms, to_ms],
        )

    def for_space(self, name: str) -> PostgresStore:
        return PostgresStore(**self._opened, space=name, migrate=False)

    def close(self) -> None:
        self._database.close()
