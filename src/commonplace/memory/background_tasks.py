"""Background work of a server: links, topics, other spaces, a check after an unclean end, a backup a day."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreBusy
from commonplace.memory import status_and_stats
from commonplace.memory.backup import back_up_if_due
from commonplace.memory.embedding_worker import BACKGROUND_BATCH
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory, for_space
from commonplace.memory.topics import update_topics
from commonplace.temporary_files import remove_abandoned
from commonplace.text.dates import DAY_MS

Task = Callable[[LocalMemory], bool]
"""Does one small step of its work. True if there may be more to do."""

TASKS: tuple[Task, ...] = (link_new_passages, update_topics)

# How often a living process looks for what was written, by itself or by others.
POLL_SECONDS = 0.5
# After a step the others get this many times as long as it took; after one that somebody waits for, this many.
PAUSE_FACTOR, SHORT_PAUSE_FACTOR = 2.0, 0.25


class BackgroundWorker:
    """Does the tasks for one memory in a thread of its own; `step` does one round at once."""

    def __init__(
        self, memory: LocalMemory, tasks: tuple[Task, ...] = TASKS, pause_factor: float = PAUSE_FACTOR
    ) -> None:
        self._memory, self._tasks, self._pause_factor = memory, tasks, pause_factor
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
                more = task(self._memory) or more
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
            self._memory.embeddings.wait_until_idle(self._stop)
            began = time.monotonic()
            more = self.step()
            self._stop.wait(self._pause_factor * (time.monotonic() - began) if more else POLL_SECONDS)


class OtherSpacesTask:
    """A task of a server (background.Task): one small step in one space, then the next one has its turn.

    On its first round it looks into every space: some may have vectors of another model, or links that nobody made.
    Later the store tells where something waits. Any number of servers may do this at once: they share the work by
    the leases on it.
    """

    def __init__(self) -> None:
        self._turns: deque[str] = deque()
        self._last = ""
        self._seen_all = self._any = False

    def __call__(self, home: LocalMemory) -> bool:
        if not self._turns:
            waiting = sorted(name for name in self._waiting(home) if name != home.settings.space)
            # After the one that had the last turn: a round that was broken off goes on.
            self._turns.extend(sorted(waiting, key=lambda name: name <= self._last))
            self._any = False
        if not self._turns:
            return False
        self._last = self._turns.popleft()
        self._any = self._step(home, self._last) or self._any
        # After a round in which nothing could be done, others come first for a while.
        return bool(self._turns) or self._any

    def _waiting(self, home: LocalMemory) -> list[str]:
        if not self._seen_all:
            self._seen_all = True
            return [entry.name for entry in home.maintenance.spaces(home.clock())]
        return list(home.maintenance.spaces_with_work(home.clock(), vectors=home.embeddings.model is not None))

    def _step(self, home: LocalMemory, space: str) -> bool:
        memory = for_space(home, space)
        done = memory.embeddings.catch_up(limit=BACKGROUND_BATCH, batch=BACKGROUND_BATCH)
        more = BackgroundWorker(memory).step()
        if memory.embeddings.state.startswith("failed"):
            # What cannot be done for one can most often be done for none: not all of them have to try.
            self._turns.clear()
        return done > 0 or more


class BackgroundTasks:
    """All that a server does besides answering: links and topics, upkeep, and `tasks`, which somebody waits for."""

    def __init__(self, tasks: tuple[Task, ...] = ()) -> None:
        self._tasks, self._maintenance = tasks, MaintenanceTask()
        self._workers: tuple[BackgroundWorker, ...] = ()

    def start(self, memory: LocalMemory) -> None:
        more_work = BackgroundWorker(memory, self._tasks, SHORT_PAUSE_FACTOR)
        upkeep = BackgroundWorker(memory, (self._maintenance,))
        self._workers = (BackgroundWorker(memory), upkeep, *((more_work,) if self._tasks else ()))
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def mark_clean_end(self, settings: Settings) -> None:
        self._maintenance.mark_clean_end(settings)


RUNNING_FOLDER = "running"
# How often a server looks around; a mark that nobody renewed for a while is of one that was killed.
MAINTENANCE_SECONDS, ABANDONED_SECONDS = 60.0, 300.0
# A server that lives shortly makes no backups.
FIRST_BACKUP_SECONDS = 300.0


class MaintenanceTask:
    """A task of a server (background.Task) for the file of its store. A database server looks after itself."""

    def __init__(self, first_backup: float = FIRST_BACKUP_SECONDS) -> None:
        self._mark = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._next, self._first_backup = 0.0, time.monotonic() + first_backup
        self._looked = False

    def __call__(self, memory: LocalMemory) -> bool:
        # A server starts without it.
        from commonplace.memory.check_and_repair import check_newest

        if memory.settings.database_url or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + MAINTENANCE_SECONDS
        killed = _take_abandoned_marks(memory.settings)
        remove_abandoned(memory.settings.data_dir)
        self._renew(memory.settings)
        if not self._looked:
            self._looked = True
            _record_faults(memory, "start", check_newest(memory))
        if killed:
            _check_after_unclean_end(memory)
        if time.monotonic() >= self._first_backup:
            back_up_if_due(memory)
        return False

    def mark_clean_end(self, settings: Settings) -> None:
        """A server that ends as it should takes its mark away."""
        with suppress(OSError):
            (settings.data_dir / RUNNING_FOLDER / self._mark).unlink(missing_ok=True)

    def _renew(self, settings: Settings) -> None:
        mark = settings.data_dir / RUNNING_FOLDER / self._mark
        with suppress(OSError):
            mark.parent.mkdir(mode=0o700, exist_ok=True)
            if not mark.parent.is_symlink():
                mark.touch(mode=0o600)


def _check_after_unclean_end(memory: LocalMemory) -> None:
    """Once a day at most: editors often end their servers without asking, and a file survives that."""
    from commonplace.memory.check_and_repair import check_store

    known = status_and_stats.last_check_result(memory.settings)
    if known is None or known.how == "start" or not 0 <= memory.clock() - known.checked_ms < DAY_MS:
        _record_faults(memory, "unclean end", check_store(memory, quick=True))


def _record_faults(memory: LocalMemory, how: str, faults: list[status_and_stats.Fault]) -> None:
    """Record what is wrong. That nothing is seen at the start does not replace what a whole check found."""
    known = status_and_stats.last_check_result(memory.settings)
    if faults or how != "start" or known is None:
        status_and_stats.save_check_result(memory.settings, how, faults, memory.clock())


def _take_abandoned_marks(settings: Settings) -> bool:
    """Whether some server was killed; its mark is taken away."""
    found = False
    with suppress(OSError):
        for mark in (settings.data_dir / RUNNING_FOLDER).iterdir():
            if not 0 <= time.time() - mark.stat().st_mtime < ABANDONED_SECONDS:
                mark.unlink(missing_ok=True)
                found = True
    return found
