"""The open memory: a store, a clock, and the part that understands meaning. Every verb takes one of these."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from commonplace.config import Settings, listed
from commonplace.embed import Embedder
from commonplace.errors import StoreError
from commonplace.memory.embeddings import Embeddings
from commonplace.memory.encryption import store_key
from commonplace.memory.open_store import OpenSpaces

if TYPE_CHECKING:
    from commonplace.store.maintenance import StoreMaintenance
    from commonplace.store.protocol import SpaceStore, Store

Clock = Callable[[], int]


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """What the verbs need to work.

    `store` is what the caller may use: of a memory that is limited to a project, that project only. `maintenance`
    concerns the whole store, and is refused then.
    """

    settings: Settings
    store: SpaceStore
    maintenance: StoreMaintenance
    embeddings: Embeddings
    clock: Clock
    open_spaces: OpenSpaces

    def close(self) -> None:
        self.embeddings.stop()
        self.open_spaces.close()
        self.store.close()


def for_project(memory: LocalMemory, project: str) -> LocalMemory:
    """The same memory for someone who may use one project of it only. Closing is left to whoever opened it."""
    from commonplace.store.project_scope import StoreWideRefusals
    from commonplace.store.project_view import ProjectView

    return replace(
        memory,
        store=ProjectView(memory.store, project),
        maintenance=cast("StoreMaintenance", StoreWideRefusals()),
        settings=replace(memory.settings, project=project),
    )


def for_space(memory: LocalMemory, space: str) -> LocalMemory:
    """The memory of another space of the same store; closing is left to whoever opened the first. NotFound if none."""
    if space == memory.settings.space:
        return memory

    def opened() -> LocalMemory:
        store = memory.maintenance.for_space(space)
        return replace(
            memory,
            store=store,
            maintenance=store,
            embeddings=memory.embeddings.for_space(store),
            settings=replace(memory.settings, space=space),
        )

    return memory.open_spaces.memory(space, opened)


def reopen_memory(settings: Settings, home: str, project: str | None) -> LocalMemory:
    """A book that another process has open: its settings, the space `home` of its server, and the only project for it.

    It stays open for the next time.
    """
    memory = for_space(_open_once(replace(settings, space=home, project="")), settings.space)
    theirs = replace(memory, settings=settings)
    return theirs if project is None else for_project(theirs, project)


@functools.cache
def _open_once(settings: Settings) -> LocalMemory:
    return open_memory(settings)


def open_memory(settings: Settings, clock: Clock = wall_clock, *, as_it_is: bool = False) -> LocalMemory:
    """Open the store of these settings, creating or migrating it where needed. Loads no model.

    `as_it_is` is for those who only want to read at once: a store that would have to be written first is an error.
    """
    store = (_open_postgres if settings.database_url else _open_sqlite)(settings, clock(), as_it_is)
    embeddings = Embeddings(store, _make_embedder(settings), clock)
    return LocalMemory(settings, store, store, embeddings, clock, OpenSpaces(settings.space))


def _open_sqlite(settings: Settings, now_ms: int, as_it_is: bool) -> Store:
    from commonplace.store.sqlite.store import SqliteStore

    return SqliteStore(
        settings.database,
        space=settings.space,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        query_timeout=settings.query_timeout,
        key=store_key(settings),
        now_ms=now_ms,
        as_it_is=as_it_is,
    )


def _open_postgres(settings: Settings, now_ms: int, as_it_is: bool) -> Store:
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
        as_it_is=as_it_is,
    )


def _make_embedder(settings: Settings) -> Embedder | None:
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
    from commonplace.embed.minilm import MiniLM

    return MiniLM(threads=settings.embedder_threads)
