"""Where a server that lives long keeps its book: opened when first needed, and tried again as long as that fails.

A damaged or read-only store then does not keep the server from starting: whoever calls is told what is wrong, and
the first call after it was mended works.
"""

from __future__ import annotations

import contextlib
import threading

from commonplace.config import Settings
from commonplace.errors import CommonplaceError, StoreError
from commonplace.memory.background import COURTESY_IF_AWAITED, Background, Task
from commonplace.memory.book import Book, Clock, open_book, wall_clock
from commonplace.memory.care import Care


class Shelf:
    """Opens the book of these settings once; what is written in it is embedded and linked in the background then.

    `tasks` are what a server does in the background besides, soon and on their own.
    """

    def __init__(self, settings: Settings, clock: Clock = wall_clock, tasks: tuple[Task, ...] = ()) -> None:
        self._settings, self._clock, self._tasks = settings, clock, tasks
        self._lock = threading.Lock()
        self._book: Book | None = None
        self._background: tuple[Background, ...] = ()
        self._timer: threading.Timer | None = None
        self._closed = False
        self._care = Care()

    def book(self) -> Book:
        """The open book, or the error that keeps it shut."""
        with self._lock:
            if self._closed:
                raise StoreError("The server is ending.", "Start it again.")
            if self._book is None:
                self._book = open_book(self._settings, self._clock)
                self._book.meaning.start()
                besides = Background(self._book, self._tasks, COURTESY_IF_AWAITED)
                care = Background(self._book, (self._care,))
                self._background = (Background(self._book), care, *((besides,) if self._tasks else ()))
                for work in self._background:
                    work.start()
            return self._book

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
            if self._book is not None:
                self._book.close()
                self._care.leave(self._settings)

    def _try(self) -> None:
        with contextlib.suppress(CommonplaceError):
            self.book()
