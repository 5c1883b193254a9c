"""One space of one PostgreSQL database: what every part of the engine works on."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from commonplace.errors import NotFound
from commonplace.store.postgres import sql
from commonplace.store.postgres.database import Database
from commonplace.store.postgres.migrate import check, confined, migrate
from commonplace.store.postgres.pool import MOST

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")
_Part = TypeVar("_Part", bound="Space")


class Space:
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
        as_it_is: bool = False,
    ) -> None:
        self._database = Database(
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
            self.schema = check(self._database) if as_it_is else migrate(self._database)
            self._space_id = self._database.space_id = self._find_space(space, now_ms, as_it_is)
        except BaseException:
            self._database.close()
            raise

    def snapshot(self, work: Callable[[], _Answer]) -> _Answer:
        def read() -> _Answer:
            with self._database.read(self._query_timeout):
                return work()

        return self._database.on_replica(read)

    def _find_space(self, name: str, now_ms: int, as_it_is: bool) -> int:
        select = "SELECT id FROM spaces WHERE name = %s"
        with self._database.admin_read() as connection:
            row = sql.first(connection, select, (name,))
            self._database.confined = confined(connection)
        if row is None and as_it_is:
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


def allow_replica(
    reading: Callable[Concatenate[_Part, _Asked], _Answer],
) -> Callable[Concatenate[_Part, _Asked], _Answer]:
    """For what is read to be shown: nothing is decided by it that another server could have changed meanwhile."""

    @functools.wraps(reading)
    def asked(self: _Part, /, *args: _Asked.args, **kwargs: _Asked.kwargs) -> _Answer:
        return self._database.on_replica(functools.partial(reading, self, *args, **kwargs))

    return asked
