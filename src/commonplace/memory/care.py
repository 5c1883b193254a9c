"""Care: what a server does for its store besides: a look at it, a check after an unclean end, a backup a day."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.config import Settings
from commonplace.memory import health
from commonplace.memory.backup import SCHEDULED, backups, thin_out
from commonplace.memory.book import Book
from commonplace.memory.check import check, glance
from commonplace.memory.copies import place_for, prepare
from commonplace.memory.encryption import key_of
from commonplace.temporary_files import remove_abandoned

RUNNING = "running"
MAKING = "making.lock"
# How often a server looks around; a mark that nobody renewed for a while is of one that ended without a farewell.
ROUND_SECONDS, SILENT_SECONDS = 60.0, 300.0
# A server that lives shortly makes no backups, and a lock is held by nobody for longer.
FIRST_SECONDS, LONGEST_SECONDS = 300.0, 3600.0
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS


class Care:
    """A task of a server (background.Task) for the file of its store. A database server looks after itself."""

    def __init__(self, first_backup: float = FIRST_SECONDS) -> None:
        self._mark = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._next, self._first_backup = 0.0, time.monotonic() + first_backup
        self._looked = False

    def __call__(self, book: Book) -> bool:
        if book.settings.database_url or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + ROUND_SECONDS
        silent = _silent(book.settings)
        remove_abandoned(book.settings.data_dir)
        self._renew(book.settings)
        if not self._looked:
            self._looked = True
            _tell(book, "start", glance(book))
        if silent:
            _check_after_end(book)
        if time.monotonic() >= self._first_backup:
            back_up_if_due(book)
        return False

    def leave(self, settings: Settings) -> None:
        """The farewell of a server that ends as it should."""
        with suppress(OSError):
            (settings.data_dir / RUNNING / self._mark).unlink(missing_ok=True)

    def _renew(self, settings: Settings) -> None:
        mark = settings.data_dir / RUNNING / self._mark
        with suppress(OSError):
            mark.parent.mkdir(mode=0o700, exist_ok=True)
            if not mark.parent.is_symlink():
                mark.touch(mode=0o600)


def back_up_if_due(book: Book) -> Path | None:
    """Make the backup of the day, if it is time for it, something changed since the last, and nobody else is at it."""
    settings, now = book.settings, book.clock()
    if not settings.backup_every_hours:
        return None
    last = next((one for one in backups(settings) if one.why == SCHEDULED), None)
    # A backup from the future was made by a clock that was wrong.
    if last is not None and 0 <= now - last.made_ms < settings.backup_every_hours * _HOUR_MS:
        return None
    if _mark_of(settings, settings.database) == (last and _mark_of(settings, last.path)):
        return None
    target = place_for(settings, SCHEDULED, now)
    prepare(target.parent)
    with _only_one(target.parent / MAKING) as mine:
        if not mine:
            return None
        _sweep(target.parent)
        book.store.backup(target)
    thin_out(settings)
    return target


def _sweep(folder: Path) -> None:
    """Take away what those left half made that were killed."""
    with suppress(OSError):
        for half in folder.glob("*.partial*"):
            if not 0 <= time.time() - half.stat().st_mtime < LONGEST_SECONDS:
                half.unlink(missing_ok=True)


def _mark_of(settings: Settings, path: Path) -> str | None:
    from commonplace.store.sqlite.content_mark import content_mark

    return content_mark(str(path), key_of(settings))


def _check_after_end(book: Book) -> None:
    """Once a day at most: editors often end their servers without asking, and a file survives that."""
    known = health.known(book.settings)
    if known is None or known.how == "start" or not 0 <= book.clock() - known.checked_ms < _DAY_MS:
        _tell(book, "unclean end", check(book, quick=True))


def _tell(book: Book, how: str, faults: list[health.Fault]) -> None:
    """What is wrong is told; that nothing is seen in a moment does not make up for what a whole check found."""
    known = health.known(book.settings)
    if faults or how != "start" or known is None:
        health.note(book.settings, how, faults, book.clock())


def _silent(settings: Settings) -> bool:
    """Whether some server ended without a farewell; its mark is taken away."""
    found = False
    with suppress(OSError):
        for mark in (settings.data_dir / RUNNING).iterdir():
            if not 0 <= time.time() - mark.stat().st_mtime < SILENT_SECONDS:
                mark.unlink(missing_ok=True)
                found = True
    return found


@contextmanager
def _only_one(lock: Path) -> Iterator[bool]:
    """Whether nobody else of this machine is at it. What one that was killed left is taken over after a while."""
    with suppress(OSError):
        if not 0 <= time.time() - lock.stat().st_mtime < LONGEST_SECONDS:
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
