"""Helper processes: results and errors come back, and they end when nobody waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.polling import until

from commonplace.errors import CommonplaceError, InvalidInput, RateLimited
from commonplace.helper_processes import MOST_WAITING_FOR_HELPERS, CallerLeft, Helpers
from commonplace.memory.api_keys import parse_key_scope


async def never() -> None:
    await asyncio.Event().wait()


def play(story: Callable[[Helpers], Awaitable[None]]) -> None:
    async def bounded(helpers: Helpers) -> None:
        async with asyncio.timeout(60):
            await story(helpers)

    with contextlib.closing(Helpers()) as helpers:
        asyncio.run(bounded(helpers))


def test_results_and_errors_come_back() -> None:
    async def story(helpers: Helpers) -> None:
        assert await helpers.do(operator.add, 1, 2, caller=1, left=never) == 3
        with pytest.raises(InvalidInput) as refused:
            await helpers.do(parse_key_scope, "emperor", caller=1, left=never)
        assert "emperor" in refused.value.message and "reader" in refused.value.hint
        with pytest.raises(CommonplaceError, match="ZeroDivisionError"):
            await helpers.do(operator.truediv, 1, 0, caller=1, left=never)
        first = await helpers.do(os.getpid, caller=1, left=never)
        assert first != os.getpid() and await helpers.do(os.getpid, caller=2, left=never) == first

    play(story)


@pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
def test_work_ends_when_its_caller_leaves(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    work = f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(3600)"

    async def story(helpers: Helpers) -> None:
        worker = await helpers.do(os.getpid, caller=1, left=never)
        leave = asyncio.Event()
        working = asyncio.ensure_future(helpers.do(exec, work, caller=1, left=leave.wait))
        await asyncio.to_thread(until, begun.exists)
        leave.set()
        with pytest.raises(CallerLeft):
            await working
        assert await helpers.do(operator.add, 1, 2, caller=1, left=never) == 3
        await asyncio.to_thread(until, lambda: not is_alive(worker))

    play(story)


def test_a_helper_that_is_killed_is_told_of_and_replaced() -> None:
    async def story(helpers: Helpers) -> None:
        with pytest.raises(CommonplaceError, match="The system stopped the work"):
            await helpers.do(os._exit, 9, caller=1, left=never)
        assert await helpers.do(operator.add, 1, 2, caller=1, left=never) == 3

    play(story)


def test_one_caller_has_one_helper_and_few_places_in_line() -> None:
    async def story(helpers: Helpers) -> None:
        leave = asyncio.Event()
        long = [asyncio.ensure_future(helpers.do(time.sleep, 3600, caller=1, left=leave.wait)) for _ in range(20)]
        assert await helpers.do(operator.add, 1, 2, caller=2, left=never) == 3
        refused = [one for one in long if one.done()]
        assert 20 - MOST_WAITING_FOR_HELPERS - 1 <= len(refused) <= 20 - MOST_WAITING_FOR_HELPERS
        assert all(isinstance(one.exception(), RateLimited) for one in refused)
        leave.set()
        await asyncio.gather(*long, return_exceptions=True)

    play(story)


ORPHANED = """
import asyncio, os, sys, time
from commonplace.helper_processes import Helpers
async def never(): await asyncio.Event().wait()
async def main():
    helpers = Helpers()
    print(await helpers.do(os.getpid, caller=1, left=never), flush=True)
    await helpers.do(time.sleep, 3600, caller=1, left=never)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_helper_ends_with_its_server_also_if_that_is_killed() -> None:
    server = subprocess.Popen([sys.executable, "-c", ORPHANED], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    worker = int(server.stdout.readline())
    server.send_signal(signal.SIGKILL)
    server.communicate(timeout=60)
    until(lambda: not is_alive(worker))


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True
