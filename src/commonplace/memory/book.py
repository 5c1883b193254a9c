"""The open memory: a store, a clock, and the part that understands meaning. Every verb takes one of these."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from commonplace.config import Settings, listed
from commonplace.embed import Embedder
from commonplace.errors import StoreError
from commonplace.memory.encryption import key_of
from commonplace.memory.meaning import Meaning
from commonplace.memory.neighbours import Neighbours
from commonplace.store.protocol import Store

Clock = Callable[[], int]


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Book:
    """What the verbs need to work."""

    settings: Settings
    store: Store
    meaning: Meaning
    clock: Clock
    neighbours: Neighbours

    def close(self) -> None:
        self.meaning.stop()
        self.neighbours.close()
        self.store.close()


def limited(book: Book, project: str) -> Book:
    """The same memory for someone who may use one project of it only. Closing is left to whoever opened it."""
    from commonplace.store.one_project.store import OneProject

    return replace(book, store=OneProject(book.store, project), settings=replace(book.settings, project=project))


def beside(book: Book, space: str) -> Book:
    """The memory of another space of the same store; closing is left to whoever opened the first. NotFound if none."""
    if space == book.settings.space:
        return book

    def opened() -> Book:
        store = book.store.beside(space)
        return replace(
            book, store=store, meaning=book.meaning.beside(store), settings=replace(book.settings, space=space)
        )

    return book.neighbours.book(space, opened)


def reopened(settings: Settings, home: str, project: str | None) -> Book:
    """A book that another process has open: its settings, the space `home` of its server, and the only project for it.

    It stays open for the next time.
    """
    book = beside(_kept_open(replace(settings, space=home, project="")), settings.space)
    theirs = replace(book, settings=settings)
    return theirs if project is None else limited(theirs, project)


@functools.cache
def _kept_open(settings: Settings) -> Book:
    return open_book(settings)


def open_book(settings: Settings, clock: Clock = wall_clock, *, as_it_is: bool = False) -> Book:
    """Open the store of these settings, creating or migrating it where needed. Loads no model.

    `as_it_is` is for those who only want to read at once: a store that would have to be written first is an error.
    """
    store = (_on_a_server if settings.database_url else _in_a_file)(settings, clock(), as_it_is)
    return Book(settings, store, Meaning(store, _embedder(settings), clock), clock, Neighbours(settings.space))


def _in_a_file(settings: Settings, now_ms: int, as_it_is: bool) -> Store:
    from commonplace.store.sqlite.store import SqliteStore

    return SqliteStore(
        settings.database,
        space=settings.space,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        query_timeout=settings.query_timeout,
        key=key_of(settings),
        now_ms=now_ms,
        as_it_is=as_it_is,
    )


def _on_a_server(settings: Settings, now_ms: int, as_it_is: bool) -> Store:
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


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "off":
        return None
    if settings.embedder == "endpoint":
        from commonplace.embed.endpoint import EndpointEmbedder

        return EndpointEmbedder(
            settings.endpoint_url,
            settings.endpoint_model,
            api_key=settings.endpoint_key or None,
            timeout=settings.endpoint_timeout,
        )
    from commonplace.embed.minilm import MiniLM

    return MiniLM(threads=settings.embedder_threads)
