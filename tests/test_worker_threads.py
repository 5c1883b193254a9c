"""Threads are shared fairly: no caller takes all of them, or all places in line."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable

import pytest

from commonplace import worker_threads
from commonplace.errors import RateLimited
from commonplace.thread_waits import current_thread
from commonplace.worker_threads import Workers


def play(workers: Workers, story: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await story()

    with contextlib.closing(workers):
        asyncio.run(bounded())


def test_one_caller_leaves_a_thread_to_the_others() -> None:
    workers, gate = Workers(4, share=3), threading.Event()

    async def story() -> None:
        hostile = [asyncio.ensure_future(workers.do(gate.wait, "hostile")) for _ in range(50)]
        assert [await workers.do(lambda: 1, "other") for _ in range(20)] == [1] * 20
        assert not any(one.done() for one in hostile)
        gate.set()
        assert all(await asyncio.gather(*hostile))

    play(workers, story)


def test_short_calls_are_worked_on_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "LONG_SECONDS", 60.0)
    workers, running, most = Workers(4, at_once=1), list[int](), list[int]()

    def work() -> None:
        running.append(1)
        most.append(len(running))
        threading.Event().wait(0.001)
        running.pop()

    async def story() -> None:
        await asyncio.gather(*(workers.do(work, who) for who in range(100)))
        assert most == [1] * 100

    play(workers, story)


def test_a_call_that_waits_for_the_disk_does_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "LONG_SECONDS", 60.0)
    workers, gate = Workers(4, at_once=1), threading.Event()

    def write() -> bool:
        with current_thread.waits():
            return gate.wait(50)

    async def story() -> None:
        writing = asyncio.ensure_future(workers.do(write, "a"))
        assert await workers.do(lambda: 1, "b") == 1
        gate.set()
        assert await writing
        assert await workers.do(lambda: 2, "b") == 2

    play(workers, story)


def test_a_long_call_does_not_hold_up_others() -> None:
    workers, gate = Workers(4, at_once=1), threading.Event()

    async def story() -> None:
        stuck = [asyncio.ensure_future(workers.do(gate.wait, who)) for who in "abc"]
        assert await asyncio.gather(*(workers.do(lambda: 1, "d") for _ in range(20))) == [1] * 20
        assert not any(one.done() for one in stuck)
        gate.set()
        await asyncio.gather(*stuck)

    play(workers, story)


def test_callers_take_turns() -> None:
    workers, gate, order = Workers(1), threading.Event(), list[str]()

    async def story() -> None:
        first = asyncio.ensure_future(workers.do(gate.wait, "a"))
        await asyncio.sleep(0)
        calls = [workers.do(lambda who=who: order.append(who), who) for who in "aaabbc"]  # type: ignore[misc]
        waiting = [asyncio.ensure_future(call) for call in calls]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *waiting)
        assert sorted(order[:3]) == [*"abc"] and sorted(order) == [*"aaabbc"]

    play(workers, story)


def test_too_many_waiting_calls_of_one_caller_are_refused_and_nobody_elses() -> None:
    workers, gate = Workers(1, most_waiting=3), threading.Event()
    begun = threading.Event()

    async def story() -> None:
        def wait() -> bool:
            begun.set()
            return gate.wait()

        first = asyncio.ensure_future(workers.do(wait, "a"))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waiting = [asyncio.ensure_future(workers.do(lambda: 1, "a")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RateLimited) as refused:
            await workers.do(lambda: 1, "a")
        assert refused.value.retry_after >= 1
        other = asyncio.ensure_future(workers.do(lambda: 2, "b"))
        gate.set()
        assert await other == 2 and await asyncio.gather(*waiting) == [1, 1, 1] and await first

    play(workers, story)


def test_work_that_nobody_waits_for_any_more_is_not_begun() -> None:
    workers, gate, done = Workers(1), threading.Event(), list[int]()

    async def story() -> None:
        first = asyncio.ensure_future(workers.do(gate.wait))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(workers.do(lambda: done.append(1)))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        gate.set()
        await first
        await workers.do(lambda: None)
        assert not done

    play(workers, story)


def test_an_error_reaches_whoever_waits_and_the_thread_goes_on() -> None:
    workers = Workers(1)

    async def story() -> None:
        with pytest.raises(ZeroDivisionError):
            await workers.do(lambda: 1 // 0)
        assert await workers.do(lambda: 1) == 1

    play(workers, story)


def test_what_has_begun_is_finished_when_they_close() -> None:
    workers, begun, gate, done = Workers(2), threading.Event(), threading.Event(), list[int]()

    def work() -> None:
        begun.set()
        gate.wait()
        done.append(1)

    workers.later(work)
    assert begun.wait(60)
    threading.Timer(0, gate.set).start()
    workers.close()
    assert done == [1]
    with pytest.raises(RuntimeError):
        workers.later(lambda: None)


async def until_idle(workers: Workers) -> None:
    while not workers.idle_seconds:
        await asyncio.sleep(0.001)


def test_the_thread_that_worked_last_goes_on() -> None:
    """Each thread has a connection of its own, which has in memory what it read."""
    workers, gates = Workers(4), [threading.Event() for _ in range(4)]

    async def story() -> None:
        busy = [asyncio.ensure_future(workers.do(gate.wait, who)) for who, gate in enumerate(gates)]
        # A thread that starts late would be the next to be asked.
        while workers.running < len(gates):
            await asyncio.sleep(0.001)
        for gate, one in zip(gates, busy, strict=True):
            gate.set()
            await one
        await until_idle(workers)
        names = []
        for _ in range(20):
            names.append(await workers.do(lambda: threading.current_thread().name))
            await until_idle(workers)
        assert len(set(names)) == 1

    play(workers, story)


def test_it_is_known_for_how_long_they_have_been_idle() -> None:
    workers, gate = Workers(2), threading.Event()

    async def story() -> None:
        assert workers.idle_seconds > 1_000, "nothing has been worked on yet"
        waiting = asyncio.ensure_future(workers.do(gate.wait))
        while not workers.running:
            await asyncio.sleep(0.001)
        assert workers.idle_seconds == 0.0
        gate.set()
        assert await waiting
        await until_idle(workers)
        first = workers.idle_seconds
        assert 0.0 < first <= workers.idle_seconds < 60.0

    play(workers, story)
