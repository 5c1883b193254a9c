"""How a process that runs for weeks gets its memory: what is freed goes back to the system.

Left to itself, the C library of Linux keeps it for later, in more places the more threads there are, and what is large
and gone leaves a gap between what is small and stays: a server then grows though it keeps no more than before.
"""

from __future__ import annotations

import gc
import sys

# Objects made since the last look for garbage, before the next one: a search makes a few thousand, and no cycles.
MADE_BEFORE_COLLECTION = 10_000
# Names of mallopt(3): from so many bytes on a block is one of the system, and so much may be free at the end.
_MMAP_THRESHOLD, _TRIM_THRESHOLD, _ARENA_MAX = -3, -1, -8
LARGE, FREE, PLACES = 1 << 20, 1 << 20, 2


def trim() -> None:
    """From now on; before any thread is started. Elsewhere than with glibc nothing happens."""
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for name, value in ((_MMAP_THRESHOLD, LARGE), (_TRIM_THRESHOLD, FREE), (_ARENA_MAX, PLACES)):
            mallopt(name, value)


def collect_seldom() -> None:
    """Look for garbage less often from now on, and never again among what is there now: modules stay for good."""
    gc.freeze()
    gc.set_threshold(MADE_BEFORE_COLLECTION)


def release() -> None:
    """Give back what is free, after something large was made on the way. Elsewhere than with glibc nothing happens."""
    if sys.platform != "linux":
        return
    import ctypes

    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
