"""When somebody asked last, in whichever space: work in the background stands back for a moment then."""

from __future__ import annotations

import threading
import time

QUIET_SECONDS, MOST_QUIET_SECONDS = 0.2, 1.0


class Quiet:
    """One for all books of a process."""

    def __init__(self) -> None:
        self._asked = float("-inf")

    def somebody_asks(self) -> None:
        self._asked = time.monotonic()

    def wait(self, stop: threading.Event) -> None:
        """Until nobody asked for a moment, but not for ever, and not when it is time to stop."""
        latest = time.monotonic() + MOST_QUIET_SECONDS
        while (left := min(latest, self._asked + QUIET_SECONDS) - time.monotonic()) > 0 and not stop.is_set():
            stop.wait(left)
