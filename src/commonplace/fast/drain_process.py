"""The process that drains the spool when no server runs, and the lock that lets one process drain at a time.

A hook starts it at the end of a turn or a session and exits. It runs at low priority, one at a time, and ends by
itself; it has none of the hook's streams, so that no host waits for it. The next session then knows what this one did.
"""

from __future__ import annotations

import errno
import os
import sys

from commonplace.detached_process import open_lock, start_detached, take_lock, try_lock
from commonplace.fast.spool import spool_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The value `off` turns the process off.
DRAIN_VARIABLE = "COMMONPLACE_HOOKS_DRAIN"
# It stops by itself after the first number of seconds, and is killed after the second.
_SECONDS, _MAX_SECONDS = 60, 120
# The descriptor of the lock that the process was given.
_LOCK_VARIABLE = "COMMONPLACE_HOOKS_DRAIN_LOCK"
_DRAIN_LOCK, _SPAWN_LOCK = "drain.lock", "afterwards.lock"


class DrainLock:
    """For the length of the block, the right to drain; False if another process drains, or there is no spool."""

    def __init__(self, data_folder: str | os.PathLike[str]) -> None:
        self._spool, self._descriptor = spool_folder(os.fspath(data_folder)), -1

    def __enter__(self) -> bool:
        if os.path.islink(self._spool) or not os.path.isdir(self._spool):
            return False
        try:
            self._descriptor = open_lock(os.path.join(self._spool, _DRAIN_LOCK))
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            # The lock is a link: nobody drains any more, and the doctor reports what waits.
            return False
        return try_lock(self._descriptor)

    def __exit__(self, *_error: object) -> None:
        if self._descriptor >= 0:
            # Closing the file releases the lock.
            os.close(self._descriptor)


def spawn_drain(data: str, env: Mapping[str, str]) -> bool:
    """Start the process, unless one is running already: that one sees everything left before."""
    if env.get(DRAIN_VARIABLE, "").lower() == "off":
        return False
    data = os.path.abspath(data)
    # -P: nothing is imported from the folder that the hook runs in.
    command = [sys.executable, "-P", "-m", "commonplace", "drain", "--data-dir", data, "--seconds", str(_SECONDS)]
    # Windows cannot pass on a lock: there a second process finds the drain lock taken, and ends.
    lock = None if sys.platform == "win32" else _take_spawn_lock(data)
    if lock is None and sys.platform != "win32":
        return False
    start_detached(command, data, lock, background=True, max_seconds=_MAX_SECONDS, lock_variable=_LOCK_VARIABLE)
    if lock is not None:
        os.close(lock)
    return True


class SpawnLock:
    """The lock of the process that a hook started, held by that process. Other processes and Windows have none."""

    def __init__(self, data: str) -> None:
        self._data = data
        held = os.environ.pop(_LOCK_VARIABLE, "")
        self._descriptor = int(held) if held.isdecimal() else -1

    def release(self) -> bool:
        """From now on a hook starts another process; False if there was nothing to release."""
        if self._descriptor < 0:
            return False
        os.close(self._descriptor)
        self._descriptor = -1
        return True

    def take_again(self) -> bool:
        """False if a hook has started another process already."""
        lock = _take_spawn_lock(self._data)
        self._descriptor = -1 if lock is None else lock
        return lock is not None


def _take_spawn_lock(data: str) -> int | None:
    return take_lock(os.path.join(spool_folder(data), _SPAWN_LOCK))
