"""A lock between processes that nobody waits for, and that ends with its holder, however that ends."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from commonplace.capture.hooks.spool import spool_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def try_lock(descriptor: int) -> bool:
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


_DRAIN_LOCK = "drain.lock"


@contextlib.contextmanager
def drain_lock(data_folder: Path) -> Iterator[bool]:
    """True if it is ours for the length of the block; False if another process drains, or there is no spool."""
    spool = Path(spool_folder(str(data_folder)))
    if spool.is_symlink() or not spool.is_dir():
        yield False
        return
    try:
        descriptor = os.open(spool / _DRAIN_LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        # A link: whoever put it there has the turn for ever, and the doctor tells of what waits.
        yield False
        return
    try:
        yield try_lock(descriptor)
    finally:
        # Closing it gives the lock up.
        os.close(descriptor)


# What turns it off: `off`.
DRAIN_VARIABLE = "COMMONPLACE_HOOKS_DRAIN"
# It stops after so many seconds, and is stopped after so many.
_SECONDS, _MOST_SECONDS = 60, 120
_NICENESS = 10
_SPAWN_LOCK = "afterwards.lock"
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
# Where its lock lies among its open files, above the standard streams.
_KEPT, _FILES = 10, 1024


def spawn_drain(data: str, env: Mapping[str, str]) -> bool:
    """Start that process, unless one runs already; whoever runs sees what was left before."""
    if env.get(DRAIN_VARIABLE, "").lower() == "off":
        return False
    data = os.path.abspath(data)
    # Not from the folder that the hook runs in: what lies there is no part of us.
    command = [sys.executable, "-P", "-m", "commonplace", "drain", "--data-dir", data, "--seconds", str(_SECONDS)]
    if sys.platform == "win32":
        _start_detached(command, data)
        return True
    lock = _taken(data)
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
    """Whether that process runs at this moment."""
    if sys.platform == "win32" or not os.path.exists(os.path.join(spool_folder(data), _SPAWN_LOCK)):
        return False
    lock = _taken(data)
    if lock is not None:
        os.close(lock)
    return lock is None


def _taken(data: str) -> int | None:
    """The lock, if nobody has it."""
    lock = os.open(os.path.join(spool_folder(data), _SPAWN_LOCK), os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    if try_lock(lock):
        return lock
    os.close(lock)
    return None


def _become(command: list[str], data: str, lock: int) -> None:
    """Let go of the hook, its streams, its terminal and its folder; the lock is kept until the process ends."""
    import fcntl

    # First of all the streams: the host may wait until nobody has them.
    kept = fcntl.fcntl(lock, fcntl.F_DUPFD, _KEPT)
    nothing = fcntl.fcntl(os.open(os.devnull, os.O_RDWR), fcntl.F_DUPFD, _KEPT)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.closerange(3, kept)
    os.closerange(kept + 1, _FILES)
    os.setsid()
    os.nice(_NICENESS)
    import signal

    signal.alarm(_MOST_SECONDS)
    os.chdir(data)
    os.execv(command[0], command)


def _start_detached(command: list[str], data: str) -> None:
    """Windows lends no lock: those that come second find that it is not their turn to drain, and end."""
    import subprocess

    flags = sum(getattr(subprocess, name, 0) for name in _DETACHED)
    quiet = subprocess.DEVNULL
    subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=data, creationflags=flags)


_DETACHED = ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP", "BELOW_NORMAL_PRIORITY_CLASS")
