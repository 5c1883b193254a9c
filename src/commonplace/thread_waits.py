"""Where a thread says that it waits for the disk and computes nothing, so that other threads may work."""

from __future__ import annotations

import threading
from contextlib import nullcontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


class _CurrentThread(threading.local):
    """What is to be entered while this thread waits; nothing unless somebody counts the threads that work."""

    waits: Callable[[], AbstractContextManager[None]] = nullcontext


current_thread = _CurrentThread()
