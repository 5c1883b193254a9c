"""Clients of the official SDK against our server: in this process, over stdio and over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.forked_process import HAS_FORK_SERVER, ForkedProcess, command

from commonplace.mcp.server import build_server
from commonplace.memory.local_memory import LocalMemory
from commonplace.worker_threads import Workers

ERAS = ("legacy", "2026-07-28")
DEADLINE = 60.0

Story = Callable[[], Awaitable[None]]


def play(story: Story) -> None:
    """Run an asynchronous test. One that hangs ends."""

    async def bounded() -> None:
        with anyio.fail_after(5 * DEADLINE):
            await story()

    anyio.run(bounded)


@contextlib.asynccontextmanager
async def connected(memory: LocalMemory, era: str = "auto", profile: str = "all") -> AsyncIterator[Client]:
    """A client of a server in this process."""
    async with Client(build_server(lambda: memory, profile, Workers()).sdk, mode=era, cache=None) as client:
        yield client


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    """The data of a reply, after checking that the text tells the same."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert result.structured_content is not None
    data: dict[str, Any] = json.loads(block.text) if block.text.startswith("{") else result.structured_content
    assert data == result.structured_content
    return data


def environment(folder: Path, **more: str) -> dict[str, str]:
    """What a server of its own data folder needs: no model, and no settings of whoever runs the tests."""
    inherited = {name: os.environ[name] for name in ("PYTHONPATH", "PATH", "SYSTEMROOT") if name in os.environ}
    home = str(folder / "home")
    return {
        **inherited, "HOME": home, "USERPROFILE": home, "COMMONPLACE_DATA_DIR": str(folder / "data"),
        "COMMONPLACE_EMBEDDER": "off", "COMMONPLACE_HOOKS_SECONDS": "60", "COMMONPLACE_NICENESS": "0",
        "COMMONPLACE_RESIDENT": "off", "COMMONPLACE_WATCHDOG_SECONDS": "120", **more,
    }  # fmt: skip


@contextlib.asynccontextmanager
async def spawned(folder: Path, *arguments: str, era: str = "auto", **env: str) -> AsyncIterator[Client]:
    """A client of a `commonplace mcp` process."""
    program, *rest = command("mcp", *arguments)
    # Not in the repository of these tests: its project would be the window's.
    server = StdioServerParameters(command=program, args=rest, env=environment(folder, **env), cwd=folder)
    with (folder / "stderr.txt").open("a", encoding="utf-8") as errlog:
        async with Client(stdio_client(server, errlog=errlog), mode=era, cache=None) as client:
            yield client


@contextlib.asynccontextmanager
async def keyed(url: str, key: str, era: str = "auto") -> AsyncIterator[Client]:
    """A client of a server over HTTP that sends a key with each request."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=DEADLINE) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, cache=None) as client,
    ):
        yield client


class Served:
    """A `commonplace serve` process, its address, and the key that it left for whoever started it."""

    # A command that starts another one, if it is not to be started as it is.
    PREFIX: tuple[str, ...] = ()
    # Whether it may be forked from a process that has imported the program.
    FORKED = HAS_FORK_SERVER

    def __init__(self, folder: Path, *arguments: str, **env: str) -> None:
        self.process = self._start("serve", *arguments, env=environment(folder, **env))
        timer = threading.Timer(DEADLINE, self.process.kill)
        timer.start()
        assert self.process.stderr is not None
        self.greeting = self.process.stderr.readline()
        self.remark = self.process.stderr.readline()
        timer.cancel()
        self.folder = folder
        self.url = next((word for word in self.greeting.split() if word.startswith("http")), "").removesuffix("/mcp")

    def _start(self, *arguments: str, env: dict[str, str]) -> subprocess.Popen[str] | ForkedProcess:
        if self.FORKED and not self.PREFIX:
            return ForkedProcess(*arguments, env=env)
        return subprocess.Popen(
            [*self.PREFIX, sys.executable, "-m", "commonplace", *arguments],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    @property
    def key(self) -> str:
        return (self.folder / "data" / "api-key").read_text(encoding="utf-8").strip()

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}

    def client(self, era: str = "auto", key: str | None = None) -> contextlib.AbstractAsyncContextManager[Client]:
        """A client of the official SDK that sends a key."""
        return keyed(f"{self.url}/mcp", self.key if key is None else key, era)

    def end(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Signal it to end; its exit code, and what it said on standard error since it greeted."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        _out, log = self.process.communicate(timeout=DEADLINE)
        return self.process.wait(), log


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One HTTP server for the tests of a module."""
    server = Served(tmp_path_factory.mktemp("served"), "--port", "0")
    yield server
    server.end()
