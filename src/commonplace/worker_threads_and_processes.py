"""The threads that work on calls, shared by every door of a server and fairly among its callers; and helper processes.

Work that may take long has threads of its own. Threads of one process share the interpreter, so that one long
computation slows every answer: what is computed from large uploads is done by helpers. A helper is a process of lower
priority that does one piece of work at a time and is ended when nobody waits for its result any more.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from commonplace.detached_process import stand_back
from commonplace.errors import CommonplaceError, RateLimited
from commonplace.thread_waits import current_thread

# Each keeps a connection of its own.
WORKERS = 4
# Calls of one caller that may wait for a thread; more are refused.
MOST_WAITING = 512
RETRY_SECONDS = 1
# Of threads that compute so many work at once: more only take the interpreter from each other. What takes longer than
# so many seconds does not count, nor what waits for the disk (thread_waits.py).
AT_ONCE, LONG_SECONDS = 1, 0.02
# Threads for slow work, of which one caller has one at most, and what may wait for them.
SLOW_WORKERS, MOST_SLOW_WAITING = 2, 16
# After slow work the others get so many times as long as it took, but not more than so many seconds, while they call.
COURTESY, MOST_COURTESY_SECONDS, BUSY_SECONDS = 1.0, 0.25, 0.2

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
        self.slow, self.helpers = slow or self, helpers
        if slow is not None:
            slow._yields_to = self
        self._yields_to: Workers | None = None
        self._called = self._ended = float("-inf")
        self._most_threads, self._share, self._at_once = threads, share or threads, at_once or threads
        self._most_waiting, self._name = most_waiting, name
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
            # The last one is woken first. A thread that only looked for work goes behind those that worked.
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


log = logging.getLogger(__name__)

HELPERS = 2
# Pieces of work of one caller that may wait.
MOST_WAITING_FOR_HELPERS = 4
# A helper without work ends after so many seconds, and the next work starts another one.
IDLE_SECONDS = 60.0
_ENTRY = "from commonplace.worker_threads_and_processes import serve_parent; serve_parent()"


class CallerLeft(Exception):
    """Whoever wanted the result closed the connection; the work was ended."""


class _Reply(NamedTuple):
    """What a helper answers: a result, an error of ours, or the name and place of a fault. `idle`: it is ending."""

    result: Any = None
    error: CommonplaceError | None = None
    fault: str = ""
    idle: bool = False


class Helpers:
    """A few helper processes, shared fairly among callers; each is started when it is first needed."""

    def __init__(self, processes: int = HELPERS) -> None:
        # These threads only wait for the processes. One caller has one process at most.
        self._threads = Workers(processes, share=1, most_waiting=MOST_WAITING_FOR_HELPERS, name="commonplace-helper")
        self._lock = threading.Lock()
        self._idle: list[_Helper] = []
        self._tasks: set[_Task] = set()

    async def do(
        self, work: Callable[..., _T], *arguments: object, caller: Hashable, left: Callable[[], Awaitable[object]]
    ) -> _T:
        """The result of `work(*arguments)`, a function that can be imported, computed by a helper.

        It is ended, and CallerLeft raised, as soon as `left` returns. RateLimited if too much work of the caller waits.
        """
        task = _Task(self, work, arguments)
        doing = asyncio.ensure_future(self._threads.do(task.run, caller))
        leaving = asyncio.ensure_future(left())
        self._tasks.add(task)
        try:
            await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise CallerLeft
            result: _T = doing.result()
            return result
        finally:
            self._tasks.discard(task)
            leaving.cancel()
            if not doing.done():
                doing.cancel()
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leaving

    def close(self) -> None:
        """End all of them, at once."""
        for task in [*self._tasks]:
            task.cancel()
        self._threads.close()
        with self._lock:
            helpers, self._idle = self._idle, []
        for helper in helpers:
            helper.end()

    def take(self) -> _Helper:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return _Helper()

    def put_back(self, helper: _Helper) -> None:
        with self._lock:
            self._idle.append(helper)


class _Task:
    """One piece of work, which can be ended from another thread."""

    def __init__(self, helpers: Helpers, work: Callable[..., Any], arguments: tuple[object, ...]) -> None:
        self._helpers, self._job = helpers, (work, arguments)
        self._lock = threading.Lock()
        self._cancelled = False
        self._helper: _Helper | None = None

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._helper is not None:
                self._helper.kill()

    def run(self) -> Any:
        while True:
            with self._lock:
                if self._cancelled:
                    raise CallerLeft
                helper = self._helper = self._helpers.take()
            reply = helper.call(self._job)
            with self._lock:
                self._helper = None
                if reply is None or reply.idle or self._cancelled:
                    helper.end()
                else:
                    self._helpers.put_back(helper)
                if self._cancelled:
                    raise CallerLeft
            if reply is None:
                raise CommonplaceError(
                    "The system stopped the work, perhaps because it used too much memory.",
                    "Send less at once. What was already stored is kept.",
                )
            if not reply.idle:
                return _result(reply)


def _result(reply: _Reply) -> Any:
    if reply.error is not None:
        raise reply.error
    if reply.fault:
        log.error("work in a helper process failed: %s", reply.fault)
        raise CommonplaceError(f"The call failed: {reply.fault.partition(' ')[0]}.")
    return reply.result


class _Helper:
    """A process, seen from the server. Its temporary files are in a folder that goes with it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="commonplace-", ignore_cleanup_errors=True)
        environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder.name)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ENTRY],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def call(self, job: object) -> _Reply | None:
        """What it answers; None if it has ended without a word."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            pickle.dump(job, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            # It may have said before that it ends.
            pass
        try:
            reply = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        assert isinstance(reply, _Reply)
        return reply

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._folder.cleanup()


def serve_parent() -> None:
    """The whole life of a helper: job after job from standard input, until that closes or nothing comes for long."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _yield_to_server()
    replies = os.fdopen(os.dup(1), "wb")
    # What anything prints must not be taken for a reply.
    os.dup2(2, 1)
    jobs: queue.Queue[tuple[Callable[..., Any], tuple[object, ...]]] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        try:
            work, arguments = jobs.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            _answer(replies, _Reply(idle=True))
            os._exit(0)
        _answer(replies, _reply(work, arguments))


def _read(jobs_in: IO[bytes], jobs: queue.Queue[Any]) -> None:
    """Until the server is gone: whatever is being done then, nobody waits for."""
    try:
        while True:
            jobs.put(pickle.load(jobs_in))
    finally:
        os._exit(0)


def _reply(work: Callable[..., Any], arguments: tuple[object, ...]) -> _Reply:
    try:
        return _Reply(work(*arguments))
    except CommonplaceError as error:
        return _Reply(error=_copied(error))
    except Exception as error:  # noqa: BLE001 - it is told to the server, and the next job comes
        return _Reply(fault=_describe(error))


def _copied(error: CommonplaceError) -> CommonplaceError:
    """The same without its causes and traceback, which cannot be sent."""
    copy = CommonplaceError.__new__(type(error), *error.args)
    vars(copy).update(vars(error))
    return copy


def _describe(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return f"{type(error).__name__} at {' > '.join(places)}"


def _answer(replies: IO[bytes], reply: _Reply) -> None:
    pickle.dump(reply, replies)
    replies.flush()


def _yield_to_server() -> None:
    """Let the server have the processor first, and the system end this process first if memory runs out."""
    stand_back()
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")
