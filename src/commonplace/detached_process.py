"""Processes that outlive whoever starts them, and locks on files, which one process holds at a time.

Hooks import this, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
_NICENESS = 10
# In place of that: on a machine that is very busy, what stands back hardly runs at all.
NICENESS_VARIABLE = "COMMONPLACE_NICENESS"
# The lowest file descriptor for the lock, above the standard streams, and one above all that may be open.
_LOCK_DESCRIPTOR, _DESCRIPTORS = 10, 1024


def stand_back() -> None:
    """Let other processes have the processor before this one."""
    try:
        os.nice(int(os.environ.get(NICENESS_VARIABLE) or _NICENESS))
    except (OSError, AttributeError, ValueError):
        pass


def open_lock(path: str) -> int:
    """The file of a lock, which must not be a link."""
    return os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)


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


def take_lock(path: str) -> int | None:
    """The descriptor of the lock; None if another process holds it."""
    lock = open_lock(path)
    if try_lock(lock):
        return lock
    os.close(lock)
    return None


def start_detached(
    command: Sequence[str],
    folder: str,
    lock: int | None = None,
    *,
    background: bool = False,
    max_seconds: int = 0,
    lock_variable: str = "",
) -> None:
    """Run a command in a folder, without our streams, terminal and process group.

    It holds the lock until it ends, or closes the descriptor that `lock_variable` names; on Windows, which cannot pass
    on a lock, it has to take it itself. `background` gives it a low priority, and `max_seconds` a time after which it
    is killed.
    """
    if sys.platform == "win32":
        _start_on_windows(command, folder, background)
        return
    child = os.fork()
    if child == 0:
        try:
            # Before we return: whoever ends our process group must not end this.
            os.setsid()
            # Once more: nobody has to wait for the end of a grandchild.
            if os.fork() == 0:
                _become(command, folder, lock, background, max_seconds, lock_variable)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _become(
    command: Sequence[str], folder: str, lock: int | None, background: bool, max_seconds: int, lock_variable: str
) -> None:
    import fcntl

    # The streams first: the host may wait until nobody has them open.
    null = fcntl.fcntl(os.open(os.devnull, os.O_RDWR), fcntl.F_DUPFD, _LOCK_DESCRIPTOR)
    held = null if lock is None else fcntl.fcntl(lock, fcntl.F_DUPFD, null + 1)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.closerange(3, held)
    os.closerange(held + 1, _DESCRIPTORS)
    if background:
        stand_back()
    if max_seconds:
        import signal

        signal.alarm(max_seconds)
    os.chdir(folder)
    os.execve(command[0], list(command), {**os.environ, **({lock_variable: str(held)} if lock_variable else {})})


def _start_on_windows(command: Sequence[str], folder: str, background: bool) -> None:
    import subprocess

    priority = ("BELOW_NORMAL_PRIORITY_CLASS",) if background else ()
    names = ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP", *priority)
    flags = sum(getattr(subprocess, name, 0) for name in names)
    null = subprocess.DEVNULL
    subprocess.Popen(command, stdin=null, stdout=null, stderr=null, cwd=folder, creationflags=flags)
