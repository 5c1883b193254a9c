"""What an input may not do: run on without end, write outside of the data folder, call others, fail unheard.

Steps are counted as calls, so that the same input always takes the same number. What happens within one call, such as a
regular expression, is bounded by processor time; that is no measurement, only the end of a hang.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from fuzzing.target import Broken

# A hang; even the largest input of a corpus takes a hundredth of it.
MOST_CPU_SECONDS = 20
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
_CALLS = {
    "socket.connect",
    "socket.bind",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "urllib.Request",
}
# Folders that we make: the one of this process, and copies of databases that are read.
_SCRATCH = str(Path(tempfile.gettempdir()).resolve() / "commonplace-")
_seen: list[str] = []


class _TooMuch(BaseException):
    """Ends what runs on, past everything that catches errors."""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Broken if anything was written elsewhere, somebody was called, or an error of ours went to the log only."""
    records = _LogRecords()
    log = logging.getLogger("commonplace")
    log.addHandler(records)
    _seen.clear()
    _hook.on = True
    try:
        yield
    finally:
        _hook.on = False
        log.removeHandler(records)
    if _seen:
        raise Broken(f"it did {_seen[0]}")
    if records.faults:
        raise Broken(f"it was logged as a fault: {records.faults[0]}")


@contextlib.contextmanager
def counted(most: int) -> Iterator[None]:
    """Broken after so many calls, or if one of them does not end."""
    count = 0

    def count_one(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1
            if count > most:
                sys.setprofile(None)
                raise _TooMuch(f"more than {most:,} calls")

    with bounded():
        sys.setprofile(count_one)
        try:
            yield
        finally:
            sys.setprofile(None)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Broken if it does not end."""
    if not hasattr(signal, "SIGVTALRM"):
        try:
            yield
        except _TooMuch as error:
            raise Broken(str(error)) from error
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _TooMuch(f"more than {MOST_CPU_SECONDS} seconds of the processor")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_SECONDS)
    try:
        yield
    except _TooMuch as error:
        raise Broken(str(error)) from error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class _LogRecords(logging.Handler):
    """Errors that somebody caught and logged, which are faults all the same."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.faults.append(f"{record.getMessage()} ({type(error).__name__}: {error})")


class _Hook:
    """Hears of every file that is opened or changed; it cannot be taken out again, only be told not to listen."""

    def __init__(self) -> None:
        self.on = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in _CALLS:
            _seen.append(f"{event} {arguments[:2]!r}"[:200])
        elif _is_change(event, arguments) and not _is_ours(os.fsdecode(arguments[0])):
            _seen.append(f"{event} {os.fsdecode(arguments[0])[:150]!r}")


def _is_change(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a file is written or changed by its name. Names within an open folder are those of a folder of ours."""
    if not isinstance(arguments[0] if arguments else None, (str, bytes)):
        return False
    if event == "open":
        return isinstance(arguments[2], int) and bool(arguments[2] & _WRITING)
    within = len(arguments) > 1 and isinstance(arguments[-1], int) and arguments[-1] >= 0
    return event in _CHANGES and not within


def _is_ours(path: str) -> bool:
    return path == os.devnull or os.path.realpath(path).startswith(_SCRATCH)


_hook = _Hook()
sys.addaudithook(_hook)
