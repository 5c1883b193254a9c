"""Processes that write to one SQLite file queue for it, so that none of them starves.

SQLite lets whoever asks at the right moment write, and a process that waits asks ten times a second. One that writes
without a pause leaves gaps of less than a millisecond, so that another may find none of them until its time is up.
So whoever wants to write waits in line first: a process that is next keeps that place until it writes, and nobody else
begins meanwhile. The place is a lock on a byte of the record that all who have the store open share
(`replaced_file_detection.py`).

It is a matter of fairness alone: what is written is safe with SQLite's own lock. So nobody waits in line for long,
because a process that is next may have been stopped.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator

from commonplace.store.sqlite.replaced_file_detection import fcntl

# Beyond what the record holds.
_PLACE = 1 << 16
# Seconds that a place in line is waited for; then whoever asks at the right moment writes.
LONGEST_IN_LINE = 5.0
# Seconds between two attempts, at first and at most: ever longer, so that many who wait leave time to write.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.1


@contextlib.contextmanager
def next_in_line(record: int | None, end: float) -> Iterator[None]:
    """Be the next process that writes. `record` is the open file that all share; `end` is when nobody waits longer."""
    if fcntl is None or record is None:
        yield
        return
    until = min(end, time.monotonic() + LONGEST_IN_LINE)
    again = retry_until(until)
    attempts, is_next = 0, _take(record)
    while not is_next and again(attempts):
        attempts, is_next = attempts + 1, _take(record)
    try:
        yield
    finally:
        if is_next:
            with contextlib.suppress(OSError):
                fcntl.lockf(record, fcntl.LOCK_UN, 1, _PLACE)


def retry_until(end: float) -> Callable[[int], bool]:
    """A busy handler: pauses before the next attempt, a little longer each time; False when the time is up."""

    def pause(attempts: int) -> bool:
        left = end - time.monotonic()
        if left <= 0:
            return False
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * (attempts + 1))
        time.sleep(min(left, longest * random.uniform(0.5, 1.0)))
        return True

    return pause


def _take(record: int) -> bool:
    """Whether this process is next now; also where a file system has no locks."""
    assert fcntl is not None
    try:
        fcntl.lockf(record, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _PLACE)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True
