"""What a server does when nobody asks: it finishes in small steps what the writes left for later."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from commonplace.errors import CommonplaceError, StoreBusy
from commonplace.memory.book import Book
from commonplace.memory.graph import link_some
from commonplace.memory.topics import tend_topics

Task = Callable[[Book], bool]
"""Does one small step of its work. True if there may be more to do."""

TASKS: tuple[Task, ...] = (link_some, tend_topics)

# How often a living process looks for what was written, by itself or by others.
POLL_SECONDS = 0.5
# After a step the others get this many times as long as it took; after one that somebody waits for, this many.
COURTESY, COURTESY_IF_AWAITED = 2.0, 0.25


class Background:
    """Does the tasks for one book in a thread of its own; `step` does one round at once."""

    def __init__(self, book: Book, tasks: tuple[Task, ...] = TASKS, courtesy: float = COURTESY) -> None:
        self._book, self._tasks, self._courtesy = book, tasks, courtesy
        self._stop = threading.Event()
        self._worker: threading.Thread | None = None
        self.failure = ""
        """Why a task could not be done the last time; empty if all could."""

    def step(self) -> bool:
        """One step of every task. True if one of them has more to do."""
        more, failures = False, []
        for task in self._tasks:
            if self._stop.is_set():
                break
            try:
                more = task(self._book) or more
            except StoreBusy:
                # Whoever writes now comes first.
                continue
            except CommonplaceError as error:
                failures.append(error.message)
            except Exception as error:  # noqa: BLE001 - one task that fails must not keep the others from their work
                failures.append(f"{type(error).__name__}: {error}")
        self.failure = "; ".join(failures)
        return more

    def start(self) -> None:
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="commonplace-background", daemon=True)
            self._worker.start()

    def stop(self) -> None:
        """After the step that is under way, if any."""
        self._stop.set()
        if self._worker is not None:
            self._worker.join(timeout=5)

    def _work(self) -> None:
        while not self._stop.is_set():
            self._book.meaning.until_quiet(self._stop)
            began = time.monotonic()
            more = self.step()
            self._stop.wait(self._courtesy * (time.monotonic() - began) if more else POLL_SECONDS)
