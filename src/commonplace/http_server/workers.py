"""Several processes for one server (`commonplace serve --workers N`).

The first process listens, and forks workers that answer on its socket. One of them leads: it links, makes backups,
reads the spool and the watched folder. The first process only watches: a worker that dies is replaced, signals are
passed on, and when the first process itself is gone, the workers end.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import math
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.config import Settings
from commonplace.errors import InvalidInput
from commonplace.http_server.shared_state import SharedState
from commonplace.temporary_files import private_temporary_files

if TYPE_CHECKING:
    from commonplace.web.login import LoginTickets

PASSED_ON = (signal.SIGINT, signal.SIGTERM)
# A worker that lived shorter than this is replaced after a pause, each time twice as long, up to the longest.
SHORT_LIFE_SECONDS, FIRST_PAUSE, LONGEST_PAUSE = 5.0, 0.1, 5.0

_log = logging.getLogger("commonplace")


def run_workers(settings: Settings, show: bool | None = None) -> None:
    """Serve with several processes until interrupted or terminated."""
    if not hasattr(os, "fork"):
        raise InvalidInput(
            f"This system cannot run {settings.workers} workers.",
            "Use one (--workers 1), or run several servers with a PostgreSQL store behind a load balancer.",
        )
    # Read when the library is imported: metrics are counted in files here, and added up by whoever is asked for them.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="metrics-")
    from commonplace.http_server import server
    from commonplace.web.login import LoginTickets

    server.prepare(settings)
    with (
        contextlib.closing(SharedState()) as state,
        server.listening(settings.host, settings.port) as sock,
        _wakeups() as wakeups,
    ):
        tickets = LoginTickets(state.first_use)
        address = server.address_of(sock)
        message, waits = _in_child(lambda: _first_key(settings))
        link = server.start_link(address, settings, tickets)
        server.print_start(address, message, settings.log_format)
        # Objects that the collector leaves alone stay in pages that all processes share.
        gc.collect()
        gc.freeze()
        supervisor = _Supervisor(settings, lambda worker: _work(settings, sock, tickets, worker, waits), state, wakeups)
        supervisor.start()
        # A browser is opened by a thread, and threads are not forked.
        server.show_link(link, settings, show)
        supervisor.watch()


def _first_key(settings: Settings) -> tuple[str, bool]:
    """What to say about keys, and whether the first one has yet to be made. It also migrates the store, once."""
    from commonplace.http_server.server import FirstKeyLater
    from commonplace.memory.local_memory import LazyMemory

    later = FirstKeyLater(settings)
    with contextlib.closing(LazyMemory(settings)) as lazy_memory:
        return later.or_now(lazy_memory), later.waits


def _in_child(work: Callable[[], tuple[str, bool]]) -> tuple[str, bool]:
    """Do something in a process that is gone afterwards: connections and threads would not survive a fork."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _child(lambda: os.write(writing, json.dumps(work()).encode()))
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    os.waitpid(pid, 0)
    if not text:
        return "The store could not be opened.", True
    message, waits = json.loads(text)
    return str(message), bool(waits)


def _work(settings: Settings, sock: socket.socket, tickets: LoginTickets, worker: ForkedWorker, waits: bool) -> None:
    from commonplace.http_server.server import FirstKeyLater, serve

    later = FirstKeyLater(settings)
    later.waits = waits
    with private_temporary_files(settings.data_dir):
        # From then on it ends as it should.
        serve(settings, sock, tickets, later, lambda _memory: _unblock(), worker)


@dataclass(frozen=True, slots=True)
class ForkedWorker:
    """A worker as it knows itself. `parent` is the end of a pipe that the first process holds open."""

    leads: bool
    state: SharedState
    parent: int

    def end_with_parent(self, end: Callable[[], None]) -> None:
        def wait() -> None:
            os.read(self.parent, 1)
            end()

        threading.Thread(target=wait, name="commonplace-parent", daemon=True).start()


class _Supervisor:
    """Starts the workers, replaces those that die, and ends when all have ended."""

    def __init__(
        self, settings: Settings, work: Callable[[ForkedWorker], None], state: SharedState, wakeups: int
    ) -> None:
        self._work, self._state, self._wakeups = work, state, wakeups
        self._running: dict[int, int] = {}
        # When each worker that is not there may be started, when it was the last time, and how long the last pause was.
        self._due = dict.fromkeys(range(settings.workers), 0.0)
        self._started: dict[int, float] = {}
        self._pause: dict[int, float] = {}
        self._ending = False
        self._alive = os.pipe()

    def start(self) -> None:
        for one in PASSED_ON:
            signal.signal(one, self._pass_on)
        self._start_due()

    def watch(self) -> None:
        while self._running or (self._due and not self._ending):
            self._wait()
            self._collect()
            self._start_due()

    def _pass_on(self, number: int, _frame: object) -> None:
        self._ending = True
        for pid in list(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _wait(self) -> None:
        """Until a signal comes, or a worker is due."""
        left = min(self._due.values(), default=math.inf) - time.monotonic()
        with contextlib.suppress(InterruptedError):
            if select.select([self._wakeups], [], [], None if left == math.inf else max(0.0, left))[0]:
                os.read(self._wakeups, 4096)

    def _collect(self) -> None:
        """Note which workers have ended."""
        from commonplace.rest.metrics import forget_worker

        for pid, number in list(self._running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done:
                continue
            del self._running[pid]
            forget_worker(pid)
            if self._ending:
                continue
            _log.warning("worker %d ended (%s) and is replaced", number + 1, _ended(status))
            lived = time.monotonic() - self._started[number]
            pause = (
                0.0 if lived >= SHORT_LIFE_SECONDS else min(LONGEST_PAUSE, 2 * self._pause.get(number, FIRST_PAUSE / 2))
            )
            self._pause[number] = pause or FIRST_PAUSE / 2
            self._due[number] = time.monotonic() + pause

    def _start_due(self) -> None:
        for number, due in list(self._due.items()):
            if not self._ending and due <= time.monotonic():
                del self._due[number]
                self._fork(number)

    def _fork(self, number: int) -> None:
        # A signal that comes meanwhile is handled when the worker is known.
        signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        try:
            pid = os.fork()
            if not pid:
                os.close(self._alive[1])
                _child(lambda: self._work(ForkedWorker(number == 0, self._state, self._alive[0])))
            self._running[pid], self._started[number] = number, time.monotonic()
        finally:
            _unblock()


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)


def _child(work: Callable[[], object]) -> None:
    """Do the work of a process that was just forked, and end it: nothing that its parent had begun is finished here."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for one in (*PASSED_ON, signal.SIGCHLD):
            signal.signal(one, signal.SIG_DFL)
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it must not reach what the parent was doing
        _log.exception("a worker failed")
    finally:
        logging.shutdown()
        sys.stderr.flush()
        os._exit(status)


@contextlib.contextmanager
def _wakeups() -> Iterator[int]:
    """The end of a pipe that can be read when a signal came, also when a worker ended."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def _ended(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"status {code}"
