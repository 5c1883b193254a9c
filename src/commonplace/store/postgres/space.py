"""One space of one PostgreSQL database: what every part of the engine works on."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from commonplace.errors import NotFound
from commonplace.store.postgres import sql
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.migrate import check, confined
from commonplace.store.postgres.migrate import migrate as run_migrations
from commonplace.store.postgres.pool import MOST
from commonplace.store.sql.space import Space

_T = TypeVar("_T")


class PostgresSpace(Space):
    """The database, migrated, and the number of the space in it. Parts of the engine are made of this."""

    def __init__(
        self,
        url: str,
        *,
        space: str = "default",
        replicas: Sequence[str] = (),
        durability: str = "full",
        busy_timeout: float = 30.0,
        query_timeout: float = 10.0,
        connections: int = MOST,
        now_ms: int = 0,
        migrate: bool = True,
    ) -> None:
        self._database: Database = Database(
            url, replicas=replicas, durability=durability, busy_timeout=busy_timeout, connections=connections
        )
        # For a store of another space.
        self._opened: dict[str, Any] = {
            "url": url,
            "replicas": replicas,
            "durability": durability,
            "busy_timeout": busy_timeout,
            "query_timeout": query_timeout,
            "connections": connections,
        }
        self._query_timeout = query_timeout
        self._lock = threading.Lock()
        try:
            self.schema = run_migrations(self._database) if migrate else check(self._database)
            self._space_id = self._database.space_id = self._find_space(space, now_ms, migrate)
        except BaseException:
            self._database.close()
            raise

    def _find_space(self, name: str, now_ms: int, create: bool) -> int:
        select = "SELECT id FROM spaces WHERE name = %s"
        with self._database.admin_read() as connection:
            row = sql.first(connection, select, (name,))
            self._database.confined = confined(connection)
        if row is None and not create:
            raise NotFound(
                f"There is no space {name!r} in the store yet.", "`commonplace spaces` lists those there are."
            )
        if row is None:
            with self._database.admin_write() as connection:
                sql.run(
                    connection,
                    "INSERT INTO spaces (name, created_ms) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING",
                    (name, now_ms),
                )
                row = sql.first(connection, select, (name,))
        assert row is not None
        return int(row[0])


def use_replicas(store: type[_T]) -> type[_T]:
    """Let replicas answer every method of a store that is marked with `allow_replica`."""
    for name in dir(store):
        method = getattr(store, name)
        if getattr(method, "allow_replica", False):
            setattr(store, name, _on_replica(method))
    return store


def _on_replica(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def read(self: PostgresSpace, /, *args: Any, **kwargs: Any) -> Any:
        return self._database.on_replica(functools.partial(method, self, *args, **kwargs))

    return read
