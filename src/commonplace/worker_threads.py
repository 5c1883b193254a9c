"""The threads that work on calls, shared by every door of a server and fairly among its callers.

Work that may take long has threads of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from commonplace.errors import RateLimited
from commonplace.thread_waits import current_thread

if TYPE_CHECKING:
    from commonplace.helper_processes import Helpers

# Each keeps a connection of its own.
WORKERS = 4
# Calls of one caller that may wait for a thread; more are refused.
MOST_WAITING = 512
RETRY_SECONDS = 1
# More threads that compute at once only fight over the interpreter. Work that takes longer than this no longer counts,
# nor does a thread that waits for the disk (thread_waits.py).
AT_ONCE = 1
LONG_SECONDS = 0.02
# Threads for slow work, of which one caller has one at most, and the calls of one caller that may wait for them.
SLOW_WORKERS = 2
MOST_SLOW_WAITING = 16
# After slow work its thread rests as many times as long as the work took, if ordinary calls came lately (BUSY_SECONDS).
COURTESY = 1.0
MOST_COURTESY_SECONDS = 0.25
BUSY_SECONDS = 0.2

_T = TypeVar("_T")


class _Job(NamedTuple):
    """Work, and what its caller waits for; None if nobody does."""

    work: Callable[[], Any]
    done: asyncio.Future[Any] | None


class Workers:
    """Threads of our own: those of the event loop come and go, and each would leave a connection behind.

    Callers take turns. One caller has at most `share` of the threads at work (all of them unless told otherwise), and
    at most `most_waiting` calls in line. `at_once` is how many threads work, unless one takes long. `slow` are the
    threads for work that may take long, and `helpers` the processes for what is computed from uploads; without them
    everything is done here.
    """

    def __init__(
        self,
        threads: int = WORKERS,
        *,
        share: int | None = None,
        at_once: int | None = None,
        most_waiting: int = MOST_WAITING,
        name: str = "commonplace-call",
        slow: Workers | None = None,
        helpers: Helpers | None = None,
    ) -> None:
        self.slow = slow or self
        self.helpers = helpers
        if slow is not None:
            slow._yields_to = self
        self._yields_to: Workers | None = None
        # When something was last asked for, and when the last piece of work ended.
        self._called = self._ended = float("-inf")
        self._most_threads = threads
        self._share = share or threads
        self._at_once = at_once or threads
        self._most_waiting = most_waiting
        self._name = name
        self._lock = threading.Lock()
        # Threads without work, the one that worked last at the end.
        self._sleeping: list[threading.Condition] = []
        self._waiting: OrderedDict[Hashable, deque[_Job]] = OrderedDict()
        self._running: Counter[Hashable] = Counter()
        self._began: dict[int, float] = {}
        self._threads: list[threading.Thread] = []
        self._idle = self._watching = 0
        self._closed = False
        atexit.register(self.close)

    @property
    def running(self) -> int:
        """How many calls are being worked on."""
        with self._lock:
            return self._running.total()

    @property
    def idle_seconds(self) -> float:
        """For how long nothing has been worked on."""
        with self._lock:
            return 0.0 if self._running or self._waiting else time.monotonic() - self._ended

    async def do(self, work: Callable[[], _T], caller: Hashable = None) -> _T:
        """Wait for a piece of work without blocking the event loop. It runs in the context of the call.

        RateLimited if too many calls of the same caller wait already.
        """
        self._called = time.monotonic()
        context = contextvars.copy_context()
        done: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._submit(_Job(lambda: context.run(work), done), caller, self._most_waiting)
        return await done

    def later(self, work: Callable[[], object]) -> None:
        """Have something done that nobody waits for."""
        self._submit(_Job(work, None), None, None)

    def close(self) -> None:
        """Finish what has begun, and begin nothing more."""
        atexit.unregister(self.close)
        with self._lock:
            self._closed = True
            jobs = [job for queue in self._waiting.values() for job in queue]
            self._waiting.clear()
            while self._sleeping:
                self._wake_one()
        for job in jobs:
            _settle_soon(job.done, asyncio.Future.cancel)
        for thread in self._threads:
            thread.join()

    def _submit(self, job: _Job, caller: Hashable, most: int | None) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError("these workers have ended")
            queue = self._waiting.setdefault(caller, deque())
            if most is not None and len(queue) >= most:
                raise RateLimited("Too many calls from one caller are waiting.", RETRY_SECONDS)
            queue.append(job)
            jobs = sum(map(len, self._waiting.values()))
            if jobs > self._idle and len(self._threads) < self._most_threads:
                # A daemon, so that whoever forgets to close us can end; `close` runs then, too, and waits for it.
                thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            if not self._watching or not self._seconds_until_free():
                self._wake_one()

    def _wake_one(self) -> None:
        """Wake the thread that worked last: its connection has most pages of the store in memory."""
        if self._sleeping:
            self._sleeping.pop().notify()

    def _work(self) -> None:
        thread = threading.get_ident()
        current_thread.waits = lambda: self._not_counted(thread)
        with self._lock:
            taken = self._take(thread)
        while taken is not None:
            caller, job = taken
            began = time.monotonic()
            _run(job)
            self._stand_back(time.monotonic() - began)
            # What a result holds must not live until the next job comes.
            del job, taken
            with self._lock:
                self._end(thread, caller)
                taken = self._take(thread)

    def _end(self, thread: int, caller: Hashable) -> None:
        self._ended = time.monotonic()
        del self._began[thread]
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]

    @contextlib.contextmanager
    def _not_counted(self, thread: int) -> Iterator[None]:
        """While a thread waits, another may work."""
        with self._lock:
            del self._began[thread]
            if self._waiting:
                self._wake_one()
        try:
            yield
        finally:
            with self._lock:
                self._began[thread] = time.monotonic()

    def _stand_back(self, took: float) -> None:
        """Leave the interpreter to others for a while, if they call."""
        others = self._yields_to
        if others is not None and time.monotonic() - others._called < BUSY_SECONDS:
            time.sleep(min(MOST_COURTESY_SECONDS, COURTESY * took))

    def _take(self, thread: int) -> tuple[Hashable, _Job] | None:
        """The next job, waiting for one if needed; None once there will be no more. Called with the lock."""
        woken = threading.Condition(self._lock)
        has_just_worked = True
        while not self._closed:
            pause = self._seconds_until_free()
            if not pause and (taken := self._next_job()) is not None:
                self._began[thread] = time.monotonic()
                if self._waiting and not self._watching:
                    self._wake_one()
                return taken
            watches = bool(pause and self._waiting)
            self._idle += 1
            self._watching += watches
            # The last one is woken first: a thread that only looked whether it is its turn goes behind the others.
            self._sleeping.insert(len(self._sleeping) if has_just_worked else 0, woken)
            has_just_worked = False
            woken.wait(pause if watches else None)
            if woken in self._sleeping:
                # Its time was over, and nobody woke it.
                self._sleeping.remove(woken)
            self._watching -= watches
            self._idle -= 1
        return None

    def _next_job(self) -> tuple[Hashable, _Job] | None:
        for caller, jobs in self._waiting.items():
            if self._running[caller] < self._share:
                job = jobs.popleft()
                self._running[caller] += 1
                self._waiting.move_to_end(caller)
                if not jobs:
                    del self._waiting[caller]
                return caller, job
        return None

    def _seconds_until_free(self) -> float:
        """How long until another thread may work, if none ends before."""
        long_since = time.monotonic() - LONG_SECONDS
        recent = [began for began in self._began.values() if began > long_since]
        return min(recent) - long_since if len(recent) >= self._at_once else 0.0


def slow_workers() -> Workers:
    """Threads for work that may take long."""
    return Workers(SLOW_WORKERS, share=1, most_waiting=MOST_SLOW_WAITING, name="commonplace-slow")


def _run(job: _Job) -> None:
    if job.done is not None and job.done.cancelled():
        return
    try:
        result = job.work()
    except BaseException as error:  # noqa: BLE001 - it is for whoever waits
        _settle_soon(job.done, asyncio.Future.set_exception, error)
    else:
        _settle_soon(job.done, asyncio.Future.set_result, result)


def _settle_soon(done: asyncio.Future[Any] | None, settle: Callable[..., object], *how: object) -> None:
    """Settle what a caller waits for, in the caller's event loop, unless that has ended or the caller is gone."""
    if done is not None:
        with contextlib.suppress(RuntimeError):
            done.get_loop().call_soon_threadsafe(lambda: done.done() or settle(done, *how))
