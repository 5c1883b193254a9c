"""What a server does when nobody asks: it finishes in small steps what the writes left for later."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreBusy
from commonplace.memory import status
from commonplace.memory.backup import SCHEDULED, delete_old_backups, list_backups
from commonplace.memory.backup_files import backup_path, make_private_folder
from commonplace.memory.check import check_newest, check_store
from commonplace.memory.embeddings import BACKGROUND_BATCH
from commonplace.memory.encryption import store_key
from commonplace.memory.graph import link_new_passages
from commonplace.memory.local_memory import LocalMemory, for_space
from commonplace.memory.topics import update_topics
from commonplace.temporary_files import remove_abandoned
from commonplace.text.dates import DAY_MS, HOUR_MS

Task = Callable[[LocalMemory], bool]
"""Does one small step of its work. True if there may be more to do."""

TASKS: tuple[Task, ...] = (link_new_passages, update_topics)

# How often a living process looks for what was written, by itself or by others.
POLL_SECONDS = 0.5
# After a step the others get this many times as long as it took; after one that somebody waits for, this many.
PAUSE_FACTOR, SHORT_PAUSE_FACTOR = 2.0, 0.25


class BackgroundWorker:
    """Does the tasks for one book in a thread of its own; `step` does one round at once."""

    def __init__(self, memory: LocalMemory, tasks: tuple[Task, ...] = TASKS, courtesy: float = PAUSE_FACTOR) -> None:
        self._memory, self._tasks, self._courtesy = memory, tasks, courtesy
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
            self._stop.wait(self._courtesy * (time.monotonic() - began) if more else POLL_SECONDS)


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


RUNNING_FOLDER = "running"
BACKUP_LOCK = "making.lock"
# How often a server looks around; a mark that nobody renewed for a while is of one that ended without a farewell.
MAINTENANCE_SECONDS, ABANDONED_SECONDS = 60.0, 300.0
# A server that lives shortly makes no backups, and a lock is held by nobody for longer.
FIRST_BACKUP_SECONDS, MAX_BACKUP_SECONDS = 300.0, 3600.0


class MaintenanceTask:
    """A task of a server (background.Task) for the file of its store. A database server looks after itself."""

    def __init__(self, first_backup: float = FIRST_BACKUP_SECONDS) -> None:
        self._mark = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._next, self._first_backup = 0.0, time.monotonic() + first_backup
        self._looked = False

    def __call__(self, memory: LocalMemory) -> bool:
        if memory.settings.database_url or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + MAINTENANCE_SECONDS
        silent = _take_abandoned_marks(memory.settings)
        remove_abandoned(memory.settings.data_dir)
        self._renew(memory.settings)
        if not self._looked:
            self._looked = True
            _record_faults(memory, "start", check_newest(memory))
        if silent:
            _check_after_unclean_end(memory)
        if time.monotonic() >= self._first_backup:
            back_up_if_due(memory)
        return False

    def leave(self, settings: Settings) -> None:
        """The farewell of a server that ends as it should."""
        with suppress(OSError):
            (settings.data_dir / RUNNING_FOLDER / self._mark).unlink(missing_ok=True)

    def _renew(self, settings: Settings) -> None:
        mark = settings.data_dir / RUNNING_FOLDER / self._mark
        with suppress(OSError):
            mark.parent.mkdir(mode=0o700, exist_ok=True)
            if not mark.parent.is_symlink():
                mark.touch(mode=0o600)


def back_up_if_due(memory: LocalMemory) -> Path | None:
    """Make the backup of the day, if it is time for it, something changed since the last, and nobody else is at it."""
    settings, now = memory.settings, memory.clock()
    if not settings.backup_every_hours:
        return None
    last = next((one for one in list_backups(settings) if one.why == SCHEDULED), None)
    # A backup from the future was made by a clock that was wrong.
    if last is not None and 0 <= now - last.made_ms < settings.backup_every_hours * HOUR_MS:
        return None
    if _content_mark(settings, settings.database) == (last and _content_mark(settings, last.path)):
        return None
    target = backup_path(settings, SCHEDULED, now)
    make_private_folder(target.parent)
    with _exclusive_lock(target.parent / BACKUP_LOCK) as mine:
        if not mine:
            return None
        _remove_partial_backups(target.parent)
        memory.maintenance.backup(target)
    delete_old_backups(settings)
    return target


def _remove_partial_backups(folder: Path) -> None:
    """Take away what those left half made that were killed."""
    with suppress(OSError):
        for half in folder.glob("*.partial*"):
            if not 0 <= time.time() - half.stat().st_mtime < MAX_BACKUP_SECONDS:
                half.unlink(missing_ok=True)


def _content_mark(settings: Settings, path: Path) -> str | None:
    from commonplace.store.sqlite.content_mark import content_mark

    return content_mark(str(path), store_key(settings))


def _check_after_unclean_end(memory: LocalMemory) -> None:
    """Once a day at most: editors often end their servers without asking, and a file survives that."""
    known = status.last_check_result(memory.settings)
    if known is None or known.how == "start" or not 0 <= memory.clock() - known.checked_ms < DAY_MS:
        _record_faults(memory, "unclean end", check_store(memory, quick=True))


def _record_faults(memory: LocalMemory, how: str, faults: list[status.Fault]) -> None:
    """What is wrong is told; that nothing is seen in a moment does not make up for what a whole check found."""
    known = status.last_check_result(memory.settings)
    if faults or how != "start" or known is None:
        status.save_check_result(memory.settings, how, faults, memory.clock())


def _take_abandoned_marks(settings: Settings) -> bool:
    """Whether some server ended without a farewell; its mark is taken away."""
    found = False
    with suppress(OSError):
        for mark in (settings.data_dir / RUNNING_FOLDER).iterdir():
            if not 0 <= time.time() - mark.stat().st_mtime < ABANDONED_SECONDS:
                mark.unlink(missing_ok=True)
                found = True
    return found


@contextmanager
def _exclusive_lock(lock: Path) -> Iterator[bool]:
    """Whether nobody else of this machine is at it. What one that was killed left is taken over after a while."""
    with suppress(OSError):
        if not 0 <= time.time() - lock.stat().st_mtime < MAX_BACKUP_SECONDS:
            lock.unlink(missing_ok=True)
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            lock.unlink()
