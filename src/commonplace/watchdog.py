"""Ends a process in which nothing runs any more because something holds the interpreter, and notes where.

The event loop says now and then that it runs. When it has not for a while, a thread of the interpreter that needs
nothing of Python writes the stack of each thread to a file, and ends the process: whoever waits for it goes on with the
next one. `commonplace doctor` tells.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, TextIO

SECONDS = 30.0
# In place of that, for a machine that is very busy; 0 for no watchdog.
SECONDS_VARIABLE = "COMMONPLACE_WATCHDOG_SECONDS"
LOG = "ended.log"
# A log that has grown larger is begun anew.
_MAX_LOG = 1 << 18


def log_path(data_dir: str | os.PathLike[str]) -> Path:
    """Where it notes what it ended, of all processes of this data folder."""
    return Path(data_dir, LOG)


class Watchdog:
    """The one of this process: where an event loop feeds one already, that one counts.

    `more` are seconds that it waits besides, for what waits without running.
    """

    _active: ClassVar[Watchdog | None] = None

    def __init__(
        self, data_dir: str | os.PathLike[str], more: float = 0.0, env: Mapping[str, str] = os.environ
    ) -> None:
        self._path, self._more = log_path(data_dir), more
        try:
            self._seconds = float(env.get(SECONDS_VARIABLE) or SECONDS)
        except ValueError:
            self._seconds = SECONDS
        self._file: TextIO | None = None

    def feed(self) -> None:
        """Say that the process runs."""
        if self._seconds <= 0 or Watchdog._active not in (None, self):
            return
        Watchdog._active = self
        if self._file is None:
            self._file = self._open()
        if self._file is not None:
            faulthandler.dump_traceback_later(self._seconds + self._more, exit=True, file=self._file)

    def stop(self) -> None:
        if Watchdog._active is not self:
            return
        Watchdog._active = None
        faulthandler.cancel_dump_traceback_later()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> TextIO | None:
        with contextlib.suppress(OSError):
            if self._path.is_symlink() or (self._path.exists() and self._path.stat().st_size > _MAX_LOG):
                self._path.unlink()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            return os.fdopen(os.open(self._path, flags, 0o600), "a", encoding="utf-8")
        return None
