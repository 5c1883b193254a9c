"""A lock between processes that nobody waits for, and that ends with its holder, however that ends."""

from __future__ import annotations

import sys


def locked(descriptor: int) -> bool:
    """Whether an open file is ours from now on, until it is closed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
