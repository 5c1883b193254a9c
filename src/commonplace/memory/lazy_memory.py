"""Where a server that lives long keeps its book: opened when first needed, and tried again as long as that fails.

A damaged or read-only store then does not keep the server from starting: whoever calls is told what is wrong, and
the first call after it was mended works.
"""

from __future__ import annotations

import contextlib
import threading

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreError
from commonplace.memory.background import SHORT_PAUSE_FACTOR, BackgroundWorker, MaintenanceTask, Task
from commonplace.memory.local_memory import Clock, LocalMemory, open_memory, wall_clock


class LazyMemory:
    """Opens the book of these settings once; what is written in it is embedded and linked in the background then.

    `tasks` are what a server does in the background besides, soon and on their own.
    """

    def __init__(self, settings: Settings, clock: Clock = wall_clock, tasks: tuple[Task, ...] = ()) -> None:
        self._settings, self._clock, self._tasks = settings, clock, tasks
        self._lock = threading.Lock()
        self._memory: LocalMemory | None = None
        self._background: tuple[BackgroundWorker, ...] = ()
        self._timer: threading.Timer | None = None
        self._closed = False
        self._care = MaintenanceTask()

    def memory(self) -> LocalMemory:
        """The open book, or the error that keeps it shut."""
        with self._lock:
            if self._closed:
                raise StoreError("The server is ending.", "Start it again.")
            if self._memory is None:
                self._memory = open_memory(self._settings, self._clock)
                self._memory.embeddings.start()
                besides = BackgroundWorker(self._memory, self._tasks, SHORT_PAUSE_FACTOR)
                care = BackgroundWorker(self._memory, (self._care,))
                self._background = (BackgroundWorker(self._memory), care, *((besides,) if self._tasks else ()))
                for work in self._background:
                    work.start()
            return self._memory

    def open_soon(self, seconds: float) -> None:
        """Open it in the background after a moment, so that waiting work goes on even if nobody calls."""
        self._timer = threading.Timer(seconds, self._try)
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        """For good: a thread that opened it now would be cut off with the process, in the midst of anything."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._closed = True
            for work in self._background:
                work.stop()
            if self._memory is not None:
                self._memory.close()
                self._care.leave(self._settings)

    def _try(self) -> None:
        with contextlib.suppress(CommonplaceError):
            self.memory()
