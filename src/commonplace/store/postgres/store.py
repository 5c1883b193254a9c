"""The PostgreSQL engine: a store in one database of a server."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from commonplace.model import Kind
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.fulltext import FullText
from commonplace.store.postgres.integrity import PostgresIntegrity
from commonplace.store.postgres.migrate import check, confined
from commonplace.store.postgres.migrate import migrate as run_migrations
from commonplace.store.postgres.pool_and_replicas import MOST
from commonplace.store.postgres.vector_search import Vectors
from commonplace.store.sql.connection import Connection
from commonplace.store.sql.items import Filter
from commonplace.store.sql.shared_store import SharedStore
from commonplace.text.dates import DAY_MS

_T = TypeVar("_T")


def use_replicas(store: type[_T]) -> type[_T]:
    """Let replicas answer every method of a store that is marked with `allow_replica`."""
    for name in dir(store):
        method = getattr(store, name)
        if getattr(method, "allow_replica", False):
            setattr(store, name, _on_replica(method))
    return store


def _on_replica(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def read(self: PostgresStore, /, *args: Any, **kwargs: Any) -> Any:
        return self._database.on_replica(functools.partial(method, self, *args, **kwargs))

    return read


@use_replicas
class PostgresStore(SharedStore, FullText, Vectors, PostgresIntegrity):
    """One space of one PostgreSQL database, shared with any number of other servers."""

    _database: Database

    def __init__(
        self,
        url: str,
        *,
        space: str = "default",
        query_timeout: float = 10.0,
        now_ms: int = 0,
        migrate: bool = True,
        replicas: Sequence[str] = (),
        connections: int = MOST,
        durability: str = "full",
        busy_timeout: float = 30.0,
    ) -> None:
        # Kept for a store of another space.
        self._options: dict[str, Any] = {
            "replicas": replicas,
            "connections": connections,
            "durability": durability,
            "busy_timeout": busy_timeout,
        }
        self._url = url
        self._database = Database(url, **self._options)
        self._open(space, now_ms, query_timeout, migrate=migrate)

    def _enter_space(self) -> None:
        self._database.space_id = self._space_id
        with self._database.admin_read() as connection:
            self._database.confined = confined(connection)

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
        timeout = self._query_timeout
        store = PostgresStore(self._url, space=name, query_timeout=timeout, migrate=False, **self._options)
        store.clock = self.clock
        return store

    def check_schema(self) -> int:
        return check(self._database)

    def _migrate(self) -> int:
        return run_migrations(self._database)
