"""The memory of a server: opened when it is first needed, and tried again as long as that fails.

So a damaged or read-only store does not keep the server from starting: each call says what is wrong, and the first call
after that was repaired works.
"""

from __future__ import annotations

import contextlib
import threading

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreError
from commonplace.memory.background_tasks import SHORT_PAUSE_FACTOR, BackgroundWorker, MaintenanceTask, Task
from commonplace.memory.local_memory import Clock, LocalMemory, Models, open_memory, wall_clock


class LazyMemory:
    """Opens the memory of these settings once; from then on, what is written is embedded and linked in the background.

    `tasks` are more work for the background, which somebody waits for. Where another process `leads`, only vectors are
    made here: they are shared out among all.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock = wall_clock,
        tasks: tuple[Task, ...] = (),
        *,
        leads: bool = True,
        models: Models | None = None,
    ) -> None:
        self._models = models
        self._settings, self._clock, self._tasks, self._leads = settings, clock, tasks, leads
        self._lock = threading.Lock()
        self._memory: LocalMemory | None = None
        self._background: tuple[BackgroundWorker, ...] = ()
        self._timer: threading.Timer | None = None
        self._closed = False
        self._maintenance = MaintenanceTask()

    def memory(self) -> LocalMemory:
        """The open memory; raises the error that keeps it from being opened."""
        with self._lock:
            if self._closed:
                raise StoreError("The server is shutting down.", "Start it again.")
            if self._memory is None:
                self._memory = open_memory(self._settings, self._clock, models=self._models)
                self._memory.embeddings.start()
                if self._leads:
                    self._start_background(self._memory)
            return self._memory

    @property
    def embedding_state(self) -> str:
        """Whether the model is loaded; empty if the memory is not open."""
        memory = self._memory
        return "" if memory is None else memory.embeddings.state

    def _start_background(self, memory: LocalMemory) -> None:
        more_work = BackgroundWorker(memory, self._tasks, SHORT_PAUSE_FACTOR)
        upkeep = BackgroundWorker(memory, (self._maintenance,))
        self._background = (BackgroundWorker(memory), upkeep, *((more_work,) if self._tasks else ()))
        for work in self._background:
            work.start()

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
            for work in self._background:
                work.stop()
            if self._memory is not None:
                self._memory.close()
                self._maintenance.mark_clean_end(self._settings)

    def _try(self) -> None:
        with contextlib.suppress(CommonplaceError):
            self.memory()
