"""LocalMemory: an open memory, which is a store, its embeddings and a clock. Every verb takes one of these."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from commonplace.config import Settings
from commonplace.memory.embeddings import Embeddings
from commonplace.memory.open_store import OpenSpaces, make_embedder, open_store

if TYPE_CHECKING:
    from commonplace.store.maintenance import StoreMaintenance
    from commonplace.store.protocol import SpaceStore

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


def open_memory(settings: Settings, clock: Clock = wall_clock, *, migrate: bool = True) -> LocalMemory:
    """Open the store of these settings, creating or migrating it where needed. Loads no model.

    Without `migrate` nothing is written: a store that is not there, or is of an older version, is an error.
    """
    store = open_store(settings, clock(), migrate=migrate)
    embeddings = Embeddings(store, make_embedder(settings), clock)
    return LocalMemory(settings, store, store, embeddings, clock, OpenSpaces(settings.space))


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


def reopen_memory(settings: Settings, home: str, project: str | None) -> LocalMemory:
    """The memory that another process has open: its settings, the home space of its server, its only project.

    It stays open for the next time.
    """
    memory = for_space(_open_once(replace(settings, space=home, project="")), settings.space)
    theirs = replace(memory, settings=settings)
    return theirs if project is None else for_project(theirs, project)


@functools.cache
def _open_once(settings: Settings) -> LocalMemory:
    return open_memory(settings)
