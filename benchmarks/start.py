"""Starting: one window of an editor, six at once, and a search from the shell.

Each is measured with a resident process that runs already, with none, and in one process as it was before there was one
(`COMMONPLACE_RESIDENT=off`), against a bare server on the same SDK; rounds are interleaved.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import StdioClient, commonplace_server, environment, median_ms
from benchmarks.process_memory import shared_memory_mb, wait_until_idle
from benchmarks.stores import store_of
from commonplace.fast.ask_resident import ask

ROUNDS, WINDOWS, ITEMS = 5, 6, 1_000
# A resident process that was told to end has so long.
END_SECONDS = 10.0
QUESTION = "which database keeps the sessions"

BARE_SDK = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("stdio")
"""

BARE_PYTHON = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}), flush=True)
"""

Rows = list[tuple[str, str, str]]
THERE, NOBODY, ALONE = "resident process there", "nothing running", "one process, the old way"
SDK, PYTHON = "bare SDK server", "bare interpreter"


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is started. `before` is done before each start."""

    command: Sequence[str]
    env: Mapping[str, str]
    before: Callable[[], object] = lambda: None


def figures(folder: Path) -> Rows:
    """Rows of (what, figure, ratio)."""
    warm, cold = (store_of(ITEMS, folder / name).data_dir for name in ("warm", "cold"))
    ways = _ways(warm, cold)
    try:
        with _window(ways[THERE]):
            rows = _start(ways) + _shell(ways)
        return rows + _windows(ways)
    finally:
        _stop(warm)
        _stop(cold)


def _ways(warm: Path, cold: Path) -> dict[str, Way]:
    """The resident process of one store is left running, that of the other is ended before each start."""
    command, env = commonplace_server(warm)
    return {
        THERE: Way(command, env),
        NOBODY: Way(*commonplace_server(cold), lambda: _stop(cold)),
        ALONE: Way(command, env | {"COMMONPLACE_RESIDENT": "off"}),
        SDK: Way([sys.executable, "-c", BARE_SDK], environment()),
        PYTHON: Way([sys.executable, "-c", BARE_PYTHON], environment()),
    }


def _start(ways: Mapping[str, Way]) -> Rows:
    """Spawn to the answer of tools/list, and what each further window takes."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    megabytes: dict[str, float] = {}
    for round_ in range(ROUNDS + 1):
        for name, way in ways.items():
            way.before()
            with StdioClient(way.command, dict(way.env)) as client:
                client.request("tools/list")
                if round_:
                    seconds[name].append(time.perf_counter() - client.started)
                megabytes[name] = shared_memory_mb([client.pid])
    base = median_ms(seconds[SDK])
    rows = [
        (f"start to tools/list: {name}", f"{median_ms(taken):.0f} ms", f"{median_ms(taken) / base:.2f} x")
        for name, taken in seconds.items()
    ]
    return rows + [
        (f"memory of a window at tools/list: {name}", f"{used:.0f} MB", f"{used / megabytes[SDK]:.2f} x")
        for name, used in megabytes.items()
        if name != NOBODY
    ]


@contextlib.contextmanager
def _window(way: Way) -> Iterator[None]:
    """A window that is there already, and with it the resident process with its model."""
    with StdioClient(way.command, dict(way.env)) as client:
        client.call("search", query=QUESTION)
        yield


def _windows(ways: Mapping[str, Way]) -> Rows:
    """Six windows started at once, each of which lists tools and searches; what all their processes take together."""
    taken: dict[str, float] = {}
    used: dict[str, float] = {}
    for name in (NOBODY, ALONE, SDK):
        way = ways[name]
        way.before()
        began = time.perf_counter()
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(WINDOWS) as pool:
            clients = [StdioClient(way.command, dict(way.env)) for _ in range(WINDOWS)]
            list(pool.map(stack.enter_context, clients))
            list(pool.map(lambda client: client.request("tools/list"), clients))
            taken[name] = time.perf_counter() - began
            if name != SDK:
                list(pool.map(lambda client: client.call("search", query=QUESTION), clients))
                processes = [*(client.pid for client in clients), *_residents(way)]
                wait_until_idle(processes)
                used[name] = shared_memory_mb(processes)
    rows = [
        (f"six windows at once to tools/list: {name}", f"{figure * 1000:.0f} ms", f"{figure / taken[SDK]:.2f} x")
        for name, figure in taken.items()
    ]
    return rows + [
        (f"six windows after a search, together: {name}", f"{figure:.0f} MB", f"{figure / used[ALONE]:.2f} x")
        for name, figure in used.items()
    ]


def _shell(ways: Mapping[str, Way]) -> Rows:
    """A search by meaning from the shell."""
    command = [sys.executable, "-m", "commonplace", "search", QUESTION]
    seconds: dict[str, list[float]] = {THERE: [], ALONE: []}
    for round_ in range(ROUNDS + 1):
        for name, taken in seconds.items():
            began = time.perf_counter()
            subprocess.run(command, env=dict(ways[name].env), check=True, capture_output=True)
            if round_:
                taken.append(time.perf_counter() - began)
    base = median_ms(seconds[ALONE])
    return [
        (f"`commonplace search` in a shell: {name}", f"{median_ms(taken):.0f} ms", f"{median_ms(taken) / base:.2f} x")
        for name, taken in seconds.items()
    ]


def _residents(way: Way) -> list[int]:
    """The resident process of a way, if it has one."""
    status = ask("status", data=way.env["COMMONPLACE_DATA_DIR"], env=way.env)
    return [] if status is None else [int(status["pid"])]


def _stop(data: Path) -> None:
    """End the resident process, and wait for its end."""
    ended = ask("stop", timeout_s=END_SECONDS, data=str(data), env=environment())
    end = time.monotonic() + END_SECONDS
    while ended is not None and Path(f"/proc/{ended['pid']}").exists() and time.monotonic() < end:
        time.sleep(0.01)
