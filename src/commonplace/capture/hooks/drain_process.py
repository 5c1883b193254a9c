"""The process that drains the spool when no server runs, and the lock that lets one process drain at a time.

A hook starts it at the end of a turn or a session and exits. It runs at low priority, one at a time, and ends by
itself; it has none of the hook's streams, so that no host waits for it. The next session then knows what this one did.
"""

from __future__ import annotations

import errno
import os
import sys

from commonplace.capture.hooks.spool import spool_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The value `off` turns the process off.
DRAIN_VARIABLE = "COMMONPLACE_HOOKS_DRAIN"
# It stops by itself after the first number of seconds, and is killed after the second.
_SECONDS, _MAX_SECONDS = 60, 120
_NICENESS = 10
_DRAIN_LOCK, _SPAWN_LOCK = "drain.lock", "afterwards.lock"
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
# The lowest file descriptor for the lock, above the standard streams, and one above all that may be open.
_LOCK_DESCRIPTOR, _DESCRIPTORS = 10, 1024


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed, without waiting; False if another process holds the lock."""
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


class DrainLock:
    """For the length of the block, the right to drain; False if another process drains, or there is no spool."""

    def __init__(self, data_folder: str | os.PathLike[str]) -> None:
        self._spool, self._descriptor = spool_folder(os.fspath(data_folder)), -1

    def __enter__(self) -> bool:
        if os.path.islink(self._spool) or not os.path.isdir(self._spool):
            return False
        try:
            self._descriptor = _open_lock(self._spool, _DRAIN_LOCK)
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
    if sys.platform == "win32":
        _start_detached(command, data)
        return True
    lock = _take_spawn_lock(data)
    if lock is None:
        return False
    if os.fork() == 0:
        try:
            _become(command, data, lock)
        finally:
            os._exit(1)
    os.close(lock)
    return True


def is_drain_running(data: str) -> bool:
    """Whether the process is running at this moment."""
    if sys.platform == "win32" or not os.path.exists(os.path.join(spool_folder(data), _SPAWN_LOCK)):
        return False
    lock = _take_spawn_lock(data)
    if lock is not None:
        os.close(lock)
    return lock is None


def _open_lock(spool: str, name: str) -> int:
    return os.open(os.path.join(spool, name), os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)


def _take_spawn_lock(data: str) -> int | None:
    """The descriptor of the lock; None if another process holds it."""
    lock = _open_lock(spool_folder(data), _SPAWN_LOCK)
    if try_lock(lock):
        return lock
    os.close(lock)
    return None


def _become(command: list[str], data: str, lock: int) -> None:
    """Detach from the hook's streams, terminal and folder, and run the command; the lock is held until it ends."""
    import fcntl

    # The streams first: the host may wait until nobody has them open.
    held = fcntl.fcntl(lock, fcntl.F_DUPFD, _LOCK_DESCRIPTOR)
    null = fcntl.fcntl(os.open(os.devnull, os.O_RDWR), fcntl.F_DUPFD, _LOCK_DESCRIPTOR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.closerange(3, held)
    os.closerange(held + 1, _DESCRIPTORS)
    os.setsid()
    os.nice(_NICENESS)
    import signal

    signal.alarm(_MAX_SECONDS)
    os.chdir(data)
    os.execv(command[0], command)


def _start_detached(command: list[str], data: str) -> None:
    """Windows cannot pass on a lock: a second process finds the drain lock taken, and ends."""
    import subprocess

    names = ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP", "BELOW_NORMAL_PRIORITY_CLASS")
    flags = sum(getattr(subprocess, name, 0) for name in names)
    null = subprocess.DEVNULL
    subprocess.Popen(command, stdin=null, stdout=null, stderr=null, cwd=data, creationflags=flags)
