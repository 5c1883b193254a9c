"""One space of one PostgreSQL database: what every part of the engine works on."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
            with self._database.admin_read() as connection:
                self._database.confined = confined(connection)
            self._space_id = self._database.space_id = self._find_space(space, now_ms, migrate)
        except BaseException:
            self._database.close()
            raise


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
