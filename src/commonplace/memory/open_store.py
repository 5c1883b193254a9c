"""Open the store and the embedder that the settings name, and hold the memories of other spaces open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace.config import Settings, listed
from commonplace.embed import Embedder
from commonplace.errors import InvalidInput, StoreError
from commonplace.memory.encryption import store_key

if TYPE_CHECKING:
    from commonplace.memory.local_memory import LocalMemory
    from commonplace.store.protocol import Store

# The spaces used last stay open. One that is closed works on for whoever still has it.
MAX_OPEN_SPACES = 100


class OpenSpaces:
    """Shared by all memories of a store. `home` is the space that the store was opened for."""

    def __init__(self, home: str, most: int = MAX_OPEN_SPACES) -> None:
        self.home, self._most = home, most
        self._lock = threading.Lock()
        self._open: OrderedDict[str, LocalMemory] = OrderedDict()

    def memory(self, space: str, open_it: Callable[[], LocalMemory]) -> LocalMemory:
        """The memory of a space, opened if it is not."""
        with self._lock:
            if space in self._open:
                self._open.move_to_end(space)
                return self._open[space]
        # Not under the lock: whoever waits for a slow store does not keep the others from theirs.
        opened = open_it()
        with self._lock:
            memory = self._open.setdefault(space, opened)
            surplus = [opened] if memory is not opened else []
            while len(self._open) > self._most:
                surplus.append(self._open.popitem(last=False)[1])
        for one in surplus:
            one.store.close()
        return memory

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1].store.close()


def open_store(settings: Settings, now_ms: int, *, migrate: bool = True) -> Store:
    """The store of these settings: a file of SQLite, or a database of PostgreSQL."""
    return (_open_postgres if settings.database_url else _open_sqlite)(settings, now_ms, migrate)


def _open_sqlite(settings: Settings, now_ms: int, migrate: bool) -> Store:
    from commonplace.store.sqlite.store import SqliteStore

    return SqliteStore(
        settings.database,
        space=settings.space,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        query_timeout=settings.query_timeout,
        key=store_key(settings),
        now_ms=now_ms,
        migrate=migrate,
    )


def _open_postgres(settings: Settings, now_ms: int, migrate: bool) -> Store:
    try:
        from commonplace.store.postgres.store import PostgresStore
    except ImportError as error:
        if "psycopg" not in f"{error.name} {error}":
            raise
        raise StoreError(
            f"database_url is set, but psycopg cannot be loaded: {error}.",
            "Install Commonplace with its extra: pip install 'commonplace[postgres]'.",
        ) from error
    return PostgresStore(
        settings.database_url,
        space=settings.space,
        replicas=listed(settings.database_replicas),
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        query_timeout=settings.query_timeout,
        connections=settings.database_connections,
        now_ms=now_ms,
        migrate=migrate,
    )


def make_embedder(settings: Settings) -> Embedder | None:
    """The embedder of these settings; it loads its model when it is first used."""
    if settings.embedder == "off":
        return None
    if settings.embedder == "endpoint":
        from commonplace.embed.openai_compatible import EndpointEmbedder

        return EndpointEmbedder(
            settings.endpoint_url,
            settings.endpoint_model,
            api_key=settings.endpoint_key or None,
            timeout=settings.endpoint_timeout,
        )
    if settings.embedder == "builtin":
        from commonplace.embed.minilm import MiniLM

        return MiniLM(threads=settings.embedder_threads)
    made: Embedder = _plugin_embedder(settings.embedder)(settings)
    return made


def _plugin_embedder(name: str) -> Callable[[Settings], Embedder]:
    from commonplace import plugins

    found = plugins.find(plugins.EMBEDDERS, name, lambda _name, made: "" if callable(made) else "it cannot be called")
    if found is None:
        raise InvalidInput(f"There is no embedder {name!r}.", "Install the package that adds it, or set builtin.")
    maker: Callable[[Settings], Embedder] = found
    return maker
