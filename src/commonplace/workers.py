"""The threads that work on calls, shared by every door of a server."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

# Each keeps a connection of its own.
WORKERS = 4

_T = TypeVar("_T")


class Workers:
    """Threads of our own: those of the event loop come and go, and each would leave a connection behind."""

    def __init__(self, threads: int = WORKERS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="commonplace-call")

    async def do(self, work: Callable[[], _T]) -> _T:
        """Wait for a piece of work without keeping others waiting. What it says in a log is said of the same call."""
        around = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: around.run(work))

    def later(self, work: Callable[[], object]) -> None:
        """Have something done that nobody waits for."""
        self._pool.submit(work)

    def close(self) -> None:
        """Finish what has begun, and begin nothing more."""
        self._pool.shutdown(cancel_futures=True)
