"""LocalMemory: an open memory, which is a store, its embeddings and a clock. Every verb takes one of these.

A server has a `LazyMemory`, which is opened when it is first needed, and tried again as long as that fails. So a
damaged or read-only store does not keep the server from starting: each call says what is wrong, and the first call
after that was repaired works.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

from commonplace.config import EMBEDDERS, FOLDER, Settings, embedder_kind, listed, model_folder
from commonplace.embed import Embedder
from commonplace.errors import CommonplaceError, InvalidInput, StoreError, install_extra_hint
from commonplace.memory.callers import local_writer
from commonplace.memory.embedding_worker import Embeddings
from commonplace.memory.store_key import store_key
from commonplace.model import UNKNOWN_AUTHOR, Author

if TYPE_CHECKING:
    from commonplace.embed.contradiction_model import ContradictionModel
    from commonplace.embed.cross_encoder import CrossEncoder
    from commonplace.store.maintenance import StoreMaintenance
    from commonplace.store.protocol import SpaceStore, Store

    MadeModels = tuple[Embedder | None, CrossEncoder | None, ContradictionModel | None]

Clock = Callable[[], int]
# Of the spaces, those used last stay open. One that is closed works on for whoever still has it.
MAX_OPEN_SPACES = 100


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


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


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """What the verbs need to work.

    `store` is what the caller may use: of a memory that is limited to a project, that project only. `maintenance`
    concerns the whole store, and is refused then. `writer` is whose words are written (callers.py).
    """

    settings: Settings
    store: SpaceStore
    maintenance: StoreMaintenance
    embeddings: Embeddings
    clock: Clock
    open_spaces: OpenSpaces
    cross_encoder: CrossEncoder | None = None
    contradiction_model: ContradictionModel | None = None
    writer: Author = UNKNOWN_AUTHOR

    def close(self) -> None:
        self.embeddings.stop()
        self.open_spaces.close()
        self.store.close()


class Models:
    """The models of a process that opens several memories: those with the same settings for them share one."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], MadeModels] = {}

    def make(self, settings: Settings) -> MadeModels:
        """The embedder of these settings, and what reads a question with a memory and two statements together."""
        if settings.embedder not in EMBEDDERS and embedder_kind(settings.embedder) != FOLDER:
            # An embedder of another package may depend on any setting.
            return make_embedder(settings), *make_cross_encoders(settings)
        endpoint = (settings.endpoint_url, settings.endpoint_model, settings.endpoint_key, settings.endpoint_timeout)
        key = (settings.embedder, settings.embedder_threads, settings.reranker, *endpoint)
        if key not in self._made:
            self._made[key] = make_embedder(settings), *make_cross_encoders(settings)
        return self._made[key]


def open_memory(
    settings: Settings, clock: Clock = wall_clock, *, migrate: bool = True, models: Models | None = None
) -> LocalMemory:
    """Open the store of these settings, creating or migrating it where needed. Loads no model.

    Whoever runs this process is the writer.

    Without `migrate` nothing is written: a store that is not there, or is of an older version, is an error.
    """
    store = open_store(settings, clock(), migrate=migrate)
    store.clock = clock
    embedder, cross_encoder, contradiction_model = (models or Models()).make(settings)
    embeddings, spaces = Embeddings(store, embedder, clock), OpenSpaces(settings.space)
    return LocalMemory(
        settings, store, store, embeddings, clock, spaces, cross_encoder, contradiction_model, local_writer(settings)
    )


class Background(Protocol):
    """What a server does besides answering (background_tasks.py)."""

    def start(self, memory: LocalMemory) -> None: ...

    def stop(self) -> None: ...

    def mark_clean_end(self, settings: Settings) -> None: ...


class LazyMemory:
    """Opens the memory of these settings once; from then on what is written is embedded, and the background works."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock = wall_clock,
        background: Background | None = None,
        *,
        models: Models | None = None,
    ) -> None:
        self._settings, self._clock, self._background, self._models = settings, clock, background, models
        self._lock = threading.Lock()
        self._memory: LocalMemory | None = None
        self._timer: threading.Timer | None = None
        self._closed = False

    def memory(self) -> LocalMemory:
        """The open memory; raises the error that keeps it from being opened."""
        with self._lock:
            if self._closed:
                raise StoreError("The server is shutting down.", "Start it again.")
            if self._memory is None:
                self._memory = open_memory(self._settings, self._clock, models=self._models)
                self._memory.embeddings.start()
                if self._background is not None:
                    self._background.start(self._memory)
            return self._memory

    @property
    def embedding_state(self) -> str:
        """Whether the model is loaded; empty if the memory is not open."""
        memory = self._memory
        return "" if memory is None else memory.embeddings.state

    def open_soon(self, seconds: float) -> None:
        """Open it in the background after a moment, so that waiting work goes on even if nobody calls."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._try)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Close it for good: a thread that opened it again would be cut off when the process ends."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._memory is None:
                return
            if self._background is not None:
                self._background.stop()
            self._memory.close()
            if self._background is not None:
                self._background.mark_clean_end(self._settings)

    def _try(self) -> None:
        with contextlib.suppress(CommonplaceError):
            self.memory()


def for_project(memory: LocalMemory, project: str) -> LocalMemory:
    """The same memory for someone who may use one project of it only. Closing is left to whoever opened it."""
    from commonplace.store.project_limited_store import ProjectView
    from commonplace.store.project_scope import StoreWideRefusals

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

    def open_it() -> LocalMemory:
        store = memory.maintenance.for_space(space)
        return replace(
            memory,
            store=store,
            maintenance=store,
            embeddings=memory.embeddings.for_space(store),
            settings=replace(memory.settings, space=space),
        )

    return memory.open_spaces.memory(space, open_it)


def reopen_memory(settings: Settings, home: str, project: str | None, writer: Author) -> LocalMemory:
    """The memory that another process has open: its settings, the home space of its server, its only project, its user.

    It stays open for the next time.
    """
    memory = for_space(_open_once(replace(settings, space=home, project="")), settings.space)
    theirs = replace(memory, settings=settings, writer=writer)
    return theirs if project is None else for_project(theirs, project)


@functools.cache
def _open_once(settings: Settings) -> LocalMemory:
    return open_memory(settings)


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
            install_extra_hint("postgres"),
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
        from commonplace.embed.model_files import MiniLM

        return MiniLM(threads=settings.embedder_threads)
    if embedder_kind(settings.embedder) == FOLDER:
        from commonplace.embed.model_files import FolderEmbedder

        return FolderEmbedder(model_folder(settings.embedder), threads=settings.embedder_threads)
    made: Embedder = _plugin_embedder(settings.embedder)(settings)
    return made


def make_cross_encoders(settings: Settings) -> tuple[CrossEncoder | None, ContradictionModel | None]:
    """What reads the best hits once more, and what compares statements; they load their models when first used.

    They know English, as the built-in embedder does: who chose another one may write in another language.
    """
    if settings.reranker == "off" or settings.embedder != "builtin":
        return None, None
    from commonplace.embed.contradiction_model import ContradictionModel
    from commonplace.embed.cross_encoder import CrossEncoder

    return CrossEncoder(settings.embedder_threads), ContradictionModel(settings.embedder_threads)


def _plugin_embedder(name: str) -> Callable[[Settings], Embedder]:
    from commonplace import plugins

    found = plugins.find(plugins.EMBEDDERS, name, lambda _name, made: "" if callable(made) else "it cannot be called")
    if found is None:
        raise InvalidInput(f"There is no embedder {name!r}.", "Install the package that adds it, or set builtin.")
    maker: Callable[[Settings], Embedder] = found
    return maker
