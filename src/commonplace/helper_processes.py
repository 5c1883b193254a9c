"""Helpers: processes that compute what is made of large uploads.

Threads of one process share the interpreter, so that one long computation slows every answer. A helper is a process of
lower priority that does one piece of work at a time and is ended when nobody waits for its result any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from commonplace.detached_process import stand_back
from commonplace.errors import CommonplaceError
from commonplace.worker_threads import Workers

_T = TypeVar("_T")

log = logging.getLogger(__name__)

HELPERS = 2
# Pieces of work of one caller that may wait.
MOST_WAITING_FOR_HELPERS = 4
# A helper without work ends after so many seconds, and the next work starts another one.
IDLE_SECONDS = 60.0
_ENTRY = "from commonplace.helper_processes import serve_parent; serve_parent()"


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
