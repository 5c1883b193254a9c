"""Waiting for what another process or thread does: for a bounded time, and no longer than it takes."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE, PAUSE = 60.0, 0.02


def until(true: Callable[[], object], seconds: float = DEADLINE) -> None:
    """Ask again and again until it is so, or fail."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(PAUSE)
