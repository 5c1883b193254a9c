"""A `commonplace` process from the fork server of this worker (tests/fork_server.py), and commands that start one.

Where there is none (it needs Linux), or a test wants a process that started by itself, it is an ordinary one.
"""

from __future__ import annotations

import atexit
import functools
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from tests import fork_server

_SCRIPT = str(Path(fork_server.__file__))
HAS_FORK_SERVER = sys.platform == "linux"


def command(*arguments: str) -> list[str]:
    """A command line that runs `commonplace` with these arguments, for programs that start servers by themselves."""
    if not HAS_FORK_SERVER:
        return [sys.executable, "-m", "commonplace", *arguments]
    return [sys.executable, "-IS", _SCRIPT, _address(), *arguments]


class ForkedProcess:
    """As much of `subprocess.Popen` as the tests of servers need, with standard error as text."""

    def __init__(self, *arguments: str, env: Mapping[str, str]) -> None:
        reading, writing = os.pipe()
        with Path(os.devnull).open("r+b") as nothing, os.fdopen(writing, "wb") as errors:
            streams = (nothing.fileno(), nothing.fileno(), errors.fileno())
            self._connection = fork_server.request(_address(), arguments, env, streams)
        self.pid = fork_server.read_number(self._connection)
        self.returncode: int | None = None
        self.stderr = os.fdopen(reading, encoding="utf-8")
        self._stderr_text = ""

    def poll(self) -> int | None:
        return self.returncode if not self._ended(0) else self.wait()

    def wait(self, timeout: float = 60.0) -> int:
        if self.returncode is None:
            if not self._ended(timeout):
                raise subprocess.TimeoutExpired("commonplace", timeout)
            self.returncode = os.waitstatus_to_exitcode(fork_server.read_number(self._connection))
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(9)

    def communicate(self, timeout: float = 60.0) -> tuple[None, str]:
        """Read what it still says, and wait for its end."""
        if not self.stderr.closed:
            timer = threading.Timer(timeout, self.kill)
            timer.start()
            self._stderr_text = self.stderr.read()
            timer.cancel()
            self.stderr.close()
        self.wait(timeout)
        return None, self._stderr_text

    def _ended(self, timeout: float) -> bool:
        return self.returncode is None and bool(select.select([self._connection], [], [], timeout)[0])


@functools.cache
def _address() -> str:
    """Where the fork server of this worker listens; it is started with the first process."""
    folder = tempfile.TemporaryDirectory(prefix="commonplace-fork-")
    path = str(Path(folder.name) / "socket")
    inherited = {name: os.environ[name] for name in ("PYTHONPATH", "PATH") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, _SCRIPT, "--serve", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=inherited
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        folder.cleanup()

    atexit.register(end)
    return path
