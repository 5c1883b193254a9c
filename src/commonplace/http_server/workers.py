"""Several processes for one server (`commonplace serve --workers N`), and what requests share besides the store.

The first process listens, and forks workers that answer on its socket. One of them leads: it links, makes backups,
reads the spool and the watched folder. The first process only watches: a worker that dies is replaced, signals are
passed on, and when the first process itself is gone, the workers end.

Requests share how much each caller has used of its limits, whether a login ended, and which links were used. One
process keeps that in memory. Several workers map a small file without a name: whoever changes it locks it, and the lock
of a process that was killed is free at once.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import json
import logging
import math
import mmap
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from commonplace.config import Settings
from commonplace.errors import InvalidInput
from commonplace.temporary_files import private_temporary_files

if TYPE_CHECKING:
    from commonplace.web.login import LoginTickets

# How many callers one process remembers before idle ones are dropped.
MAX_CALLERS = 10_000

Purpose = str
"""What is limited: `requests`, `bytes`, `wrong keys`; and `tickets`, of which each is used once."""

PURPOSES: tuple[Purpose, ...] = ("requests", "bytes", "wrong keys", "tickets")


class Levels(Protocol):
    """A number for each caller: when its bucket of tokens will be full again. Times that are past mean nothing."""

    def locked(self) -> AbstractContextManager[None]:
        """While inside, nobody else changes one."""

    def get(self, who: Hashable, default: float) -> float: ...
    def put(self, who: Hashable, level: float, now: float) -> None: ...


class ServerState(Protocol):
    """What all requests of a server have in common, whichever process answers them."""

    @property
    def logins_ended(self) -> int:
        """How many logins were ended: one that was checked before may be over."""

    def note_login_ended(self) -> None: ...
    def levels(self, purpose: Purpose) -> Levels: ...


class OwnLevels:
    """Those of one process."""

    def __init__(self) -> None:
        self._of: dict[Hashable, float] = {}

    def locked(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext()

    def get(self, who: Hashable, default: float) -> float:
        return self._of.get(who, default)

    def put(self, who: Hashable, level: float, now: float) -> None:
        self._of[who] = level
        if len(self._of) > MAX_CALLERS:
            self._of = {one: known for one, known in self._of.items() if known > now}


class OwnState:
    """That of a server of one process."""

    def __init__(self) -> None:
        self.logins_ended = 0

    def note_login_ended(self) -> None:
        self.logins_ended += 1

    def levels(self, purpose: Purpose) -> Levels:
        return OwnLevels()


_COUNTER = struct.Struct("=Q")
_SLOT = struct.Struct("=Qd")
# Places for callers in each table, and how many of them one caller may have: the one that is full first is given up.
_SLOTS, _PROBED = 1 << 14, 8
# How long a worker waits for another that changes something, which takes microseconds.
_LOCK_SECONDS = 0.05
_TABLE = _SLOTS * _SLOT.size
_SIZE = mmap.PAGESIZE + len(PURPOSES) * _TABLE


class SharedState:
    """That of several workers, made before they are forked. Used by one thread of each of them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the server
        self._file.truncate(_SIZE)
        self._map = mmap.mmap(self._file.fileno(), _SIZE)
        # Nobody can choose a name that takes the place of another.
        self._salt = os.urandom(16)
        self._fcntl = importlib.import_module("fcntl")

    def close(self) -> None:
        self._map.close()
        self._file.close()

    @property
    def logins_ended(self) -> int:
        return int(_COUNTER.unpack_from(self._map, 0)[0])

    def note_login_ended(self) -> None:
        with self.locked():
            _COUNTER.pack_into(self._map, 0, self.logins_ended + 1)

    def levels(self, purpose: Purpose) -> Levels:
        return SharedLevels(self, mmap.PAGESIZE + PURPOSES.index(purpose) * _TABLE)

    def first_use(self, ticket: str) -> bool:
        """Whether nobody used it before; from now on somebody has."""
        used = self.levels("tickets")
        with self.locked():
            is_first = used.get(ticket, 0.0) != math.inf
            used.put(ticket, math.inf, 0.0)
        return is_first

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """For a moment only: a worker that was stopped in the middle must not stop the others, who then go on."""
        end = time.monotonic() + _LOCK_SECONDS
        while not self._lock() and time.monotonic() < end:
            time.sleep(_LOCK_SECONDS / 100)
        try:
            yield
        finally:
            self._fcntl.lockf(self._file, self._fcntl.LOCK_UN)

    def _lock(self) -> bool:
        try:
            self._fcntl.lockf(self._file, self._fcntl.LOCK_EX | self._fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def read(self, at: int) -> tuple[int, float]:
        number, level = _SLOT.unpack_from(self._map, at)
        return int(number), float(level)

    def write(self, at: int, number: int, level: float) -> None:
        _SLOT.pack_into(self._map, at, number, level)

    def number_of(self, who: Hashable) -> int:
        name = f"{type(who).__name__}:{who}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=self._salt).digest()) or 1


class SharedLevels:
    """One table of the file."""

    def __init__(self, state: SharedState, start: int) -> None:
        self._state, self._start = state, start

    def locked(self) -> AbstractContextManager[None]:
        return self._state.locked()

    def get(self, who: Hashable, default: float) -> float:
        number = self._state.number_of(who)
        for at in self._places(number):
            known, level = self._state.read(at)
            if known == number:
                return level
        return default

    def put(self, who: Hashable, level: float, now: float) -> None:
        number, chosen, least = self._state.number_of(who), self._start, math.inf
        for at in self._places(number):
            known, other = self._state.read(at)
            if known == number:
                chosen = at
                break
            if other < least:
                chosen, least = at, other
        self._state.write(chosen, number, level)

    def _places(self, number: int) -> Iterator[int]:
        for step in range(_PROBED):
            yield self._start + (number + step) % _SLOTS * _SLOT.size


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
