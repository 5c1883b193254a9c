"""Afterwards: when a turn or a session ends, its hook starts one process that remembers what waits, and goes.

That process runs behind everybody else's work, one at a time, and ends by itself. It has none of the hook's streams, so
that no host waits for it. The next session is then told what this one did, though no server runs.
"""

from __future__ import annotations

import os
import sys

from commonplace.capture.hooks.lock import locked
from commonplace.capture.hooks.spool import spool_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# What turns it off: `off`.
SWITCH = "COMMONPLACE_HOOKS_DRAIN"
# It stops after so many seconds, and is stopped after so many.
_SECONDS, _MOST_SECONDS = 60, 120
_NICENESS = 10
_LOCK = "afterwards.lock"
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
# Where its lock lies among its open files, above the standard streams.
_KEPT, _FILES = 10, 1024


def start(data: str, env: Mapping[str, str]) -> bool:
    """Start that process, unless one runs already; whoever runs sees what was left before."""
    if env.get(SWITCH, "").lower() == "off":
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


def runs(data: str) -> bool:
    """Whether that process runs at this moment."""
    if sys.platform == "win32" or not os.path.exists(os.path.join(spool_of(data), _LOCK)):
        return False
    lock = _taken(data)
    if lock is not None:
        os.close(lock)
    return lock is None


def _taken(data: str) -> int | None:
    """The lock, if nobody has it."""
    lock = os.open(os.path.join(spool_of(data), _LOCK), os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    if locked(lock):
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
