"""AsyncMemory: the methods of Memory for programs that use asyncio, each run in a worker thread."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from commonplace.library.memory import Memory

P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(verb: Callable[Concatenate[Memory, P], R]) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    """The same method, run by a worker thread of the event loop."""

    @functools.wraps(verb)
    async def method(self: AsyncMemory, /, *arguments: P.args, **options: P.kwargs) -> R:
        def call() -> R:
            found: R = getattr(self.memory, verb.__name__)(*arguments, **options)
            return found

        return await asyncio.to_thread(call)

    return method


class AsyncMemory:
    """A memory for asyncio: `async with AsyncMemory() as memory: await memory.search(...)`.

    It takes what `Memory` takes, and is opened by the first call.
    """

    def __init__(self, where: str | os.PathLike[str] | None = None, **options: Any) -> None:
        self._open = functools.partial(Memory, where, **options)
        self._lock = threading.Lock()
        self._memory: Memory | None = None

    @property
    def memory(self) -> Memory:
        """The memory itself, opened if it is not; its methods block."""
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    async def close(self) -> None:
        """Close it."""
        with self._lock:
            memory, self._memory = self._memory, None
        if memory is not None:
            await asyncio.to_thread(memory.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()

    remember = _in_thread(Memory.remember)
    add = _in_thread(Memory.add)
    add_many = _in_thread(Memory.add_many)
    edit = _in_thread(Memory.edit)
    forget = _in_thread(Memory.forget)
    restore = _in_thread(Memory.restore)
    supersede = _in_thread(Memory.supersede)
    revert = _in_thread(Memory.revert)
    proposals = _in_thread(Memory.proposals)
    accept = _in_thread(Memory.accept)
    dismiss = _in_thread(Memory.dismiss)
    undo_review = _in_thread(Memory.undo_review)
    get = _in_thread(Memory.get)
    get_many = _in_thread(Memory.get_many)
    history = _in_thread(Memory.history)
    related = _in_thread(Memory.related)
    contradictions = _in_thread(Memory.contradictions)
    open_contradictions = _in_thread(Memory.open_contradictions)
    settle = _in_thread(Memory.settle)
    reopen = _in_thread(Memory.reopen)
    timeline = _in_thread(Memory.timeline)
    search = _in_thread(Memory.search)
    context = _in_thread(Memory.context)
    session_context = _in_thread(Memory.session_context)
    rules = _in_thread(Memory.rules)
    recall = _in_thread(Memory.recall)
    explain = _in_thread(Memory.explain)
    predict = _in_thread(Memory.predict)
    report = _in_thread(Memory.report)
    overview = _in_thread(Memory.overview)
    overviews = _in_thread(Memory.overviews)
    close_step = _in_thread(Memory.close_step)
    reconstruct = _in_thread(Memory.reconstruct)
    sessions = _in_thread(Memory.sessions)
    store_conversation = _in_thread(Memory.store_conversation)
    append = _in_thread(Memory.append)
    conversation = _in_thread(Memory.conversation)
    conversations = _in_thread(Memory.conversations)
    update_conversation = _in_thread(Memory.update_conversation)
    forget_conversation = _in_thread(Memory.forget_conversation)
    restore_conversation = _in_thread(Memory.restore_conversation)
    export_conversation = _in_thread(Memory.export_conversation)
    prune = _in_thread(Memory.prune)
    entities = _in_thread(Memory.entities)
    about = _in_thread(Memory.about)
    profile = _in_thread(Memory.profile)
    show_in_profile = _in_thread(Memory.show_in_profile)
    projects = _in_thread(Memory.projects)
    topics = _in_thread(Memory.topics)
    stats = _in_thread(Memory.stats)
    status = _in_thread(Memory.status)
    import_ = _in_thread(Memory.import_)
    imports = _in_thread(Memory.imports)
    undo_import = _in_thread(Memory.undo_import)
    redo_import = _in_thread(Memory.redo_import)
    ingest = _in_thread(Memory.ingest)
    export = _in_thread(Memory.export)
    sync = _in_thread(Memory.sync)
    backup = _in_thread(Memory.backup)
    backups = _in_thread(Memory.backups)
    check = _in_thread(Memory.check)
    list = _in_thread(Memory.list)
