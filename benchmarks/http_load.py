"""Many clients at once on real servers: how fast, whether anything fails, and whether what was acknowledged is lost.

`python -m benchmarks.http_load --seconds 20` runs it on one server with a SQLite file; benchmarks/team.py on others.
`--workers 1,2` asks as quickly as it can instead, and says what a server with so many workers gets done.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.process_memory import children, cpu_seconds
from benchmarks.tool_clients import Served

CLIENTS, SECONDS, RATE = 16, 60, 240.0
WARM_SECONDS = 2.0
SETTINGS = {"embedder": "off", "rate_limit": "100000", "rate_burst": "100000"}
UNAVAILABLE = 503
_ALL = "/api/v1/conversations"


class Answer(NamedTuple):
    """When a client was answered, by which server, with what status, and how long it took."""

    at: float
    server: int
    status: int
    seconds: float


@dataclass(slots=True)
class Load:
    """What the clients saw: their answers, and where to find what they were told is kept."""

    answers: list[Answer] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def statuses(self) -> Counter[int]:
        return Counter(answer.status for answer in self.answers)


class Client:
    """One client with a connection of its own."""

    def __init__(self, number: int, server: Served, load: Load) -> None:
        self.number, self._load, self._key = number, load, server.key
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.mine: list[str] = []

    def rest(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        output = json.loads(answer.read())
        if answer.status >= 400 and answer.status != UNAVAILABLE:
            self._load.strange.append(f"{method} {path}: {answer.status} {str(output)[:300]}")
        return answer.status, output

    def mcp(self, tool: str, **arguments: object) -> tuple[int, Any]:
        """The data of a tool's reply; its errors have the status that REST would give them."""
        questions = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        status, output = self.rest("POST", "/mcp", questions)
        if status != 200 or not output.get("result", {}).get("isError", "error" in output):
            return status, output.get("result", {}).get("structuredContent")
        messages = json.dumps(output)
        if "SERVICE_UNAVAILABLE" in messages:
            return UNAVAILABLE, None
        self._load.strange.append(f"{tool}: {messages[:300]}")
        return 500, None

    def keep(self, path: str, content: str) -> None:
        """Somebody was told that this is kept there."""
        self.mine.append(path)
        with self._load.lock:
            self._load.acknowledged[path] = content

    def forget(self, path: str) -> int:
        status, _output = self.rest("DELETE", path)
        if status < 400:
            self.mine.remove(path)
            with self._load.lock:
                del self._load.acknowledged[path]
        return status

    def holds(self, path: str, content: str) -> bool:
        status, output = self.rest("GET", path)
        return status == 200 and content in json.dumps(output)

    def close(self) -> None:
        self._connection.close()


Turn = Callable[[Client, int], int]
"""What a client does in a turn; the status of its answer."""


def store_conversation(client: Client, turn: int) -> int:
    body = {"label": f"Load {client.number}", "folder": f"/load/{client.number}", "messages": _messages(client, turn)}
    status, output = client.rest("POST", _ALL, body)
    if status == 201:
        client.keep(f"{_ALL}/{output['id']}", content_of(client, turn))
    return status


def read_one(client: Client, turn: int) -> int:
    return client.rest("GET", client.mine[turn % len(client.mine)] if client.mine else _ALL)[0]


def query(client: Client, turn: int) -> int:
    return client.rest("POST", "/api/v1/query", {"query": f"deploy of part {turn % 7}"})[0]


def list_some(client: Client, _turn: int) -> int:
    return client.rest("GET", f"{_ALL}?folder=/load/{client.number}&page_size=10")[0]


# Of ten requests three store a conversation; the others read, search and list.
REST: tuple[Turn, ...] = (*[store_conversation] * 3, *[read_one] * 3, query, query, list_some, list_some)


def content_of(client: Client, turn: int) -> str:
    messages = f"client {client.number} says {turn}"
    return f"{messages}: the deploy of part {turn % 7} waits for review {client.number * turn}"


def _messages(client: Client, turn: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": content_of(client, turn)}]


def add_memory(client: Client, turn: int) -> int:
    content = content_of(client, turn)
    status, output = client.mcp("add_memory", content=content, project_id=f"github.com/acme/part-{turn % 7}")
    if status == 200:
        client.keep(f"/api/v1/items/{output['uid']}", content)
    return status


def search(client: Client, turn: int) -> int:
    return client.mcp("search", query=f"which deploy waits for review {turn % 50}")[0]


def context(client: Client, turn: int) -> int:
    return client.mcp("get_context", project=f"part-{turn % 7}", query="deploy")[0]


def recall(client: Client, turn: int) -> int:
    return client.mcp("memory_search", query=f"deploy of part {turn % 7}")[0]


# Four of ten write.
MIXED: tuple[Turn, ...] = (
    store_conversation, add_memory, search, read_one, context, store_conversation, query, add_memory, recall, list_some,
)  # fmt: skip


def loaded(
    servers: Sequence[Served],
    seconds: float,
    clients: int = CLIENTS,
    rate: float = RATE,
    turns: Sequence[Turn] = REST,
    load: Load | None = None,
) -> Load:
    """Have clients call for so long, each one server, all together at a rate (as quickly as they can if it is 0).

    Whoever wants to look on while they do brings the `load`.
    """
    load = load or Load()
    until = time.perf_counter() + seconds
    pause = clients / rate if rate else 0.0

    def work(number: int) -> None:
        server = number % len(servers)
        with contextlib.closing(Client(number, servers[server], load)) as client:
            start = time.perf_counter()
            turn = 0
            while (now := time.perf_counter()) < until:
                turn += 1
                time.sleep(max(0.0, start + turn * pause - now))
                began = time.perf_counter()
                status = turns[(turn + number) % len(turns)](client, turn)
                ended = time.perf_counter()
                with load.lock:
                    load.answers.append(Answer(ended, server, status, ended - began))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return load


def lost(servers: Sequence[Served], load: Load) -> int:
    """How much of what was acknowledged is not there, asked of one server after the other."""
    with contextlib.ExitStack() as ending:
        clients = [ending.enter_context(contextlib.closing(Client(0, server, load))) for server in servers]
        stored_dialogue = enumerate(load.acknowledged.items())
        return sum(not clients[n % len(clients)].holds(path, content) for n, (path, content) in stored_dialogue)


def rows(load: Load, seconds: float, clients: int, rate: float, missing: int) -> list[tuple[str, str, str]]:
    """Requests per second, how long they took, errors, and what was lost."""
    done, taken = len(load.answers), [answer.seconds for answer in load.answers]
    middle, slowest = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
    errors = sum(count for status, count in load.statuses.items() if status >= 400)
    wanted = f"{rate:.0f}/s wanted" if rate else "without a pause"
    return [
        (f"{clients} clients for {seconds:.0f} s, {wanted}", f"{done / seconds:.0f}/s", f"{done:,}"),
        ("answers, median", f"{middle * 1000:.1f} ms", "1.0 x"),
        ("answers, 99 of 100", f"{slowest * 1000:.1f} ms", f"{slowest / middle:.1f} x"),
        ("errors", f"{errors}", f"{errors / max(1, done):.2%}"),
        (f"lost of {len(load.acknowledged):,} acknowledged writes", f"{missing}", f"{missing:.0f}"),
    ]


def throughput(workers: int, seconds: float) -> list[tuple[str, str, str]]:
    """What a server with so many workers answers, by REST and by REST and MCP, and for each second of a core."""
    figures = []
    for name, turns in (("REST", REST), ("REST and MCP", MIXED)):
        with tempfile.TemporaryDirectory() as folder:
            settings = SETTINGS | {"workers": str(workers)}
            with contextlib.closing(Served(Path(folder), **settings)) as server:
                loaded([server], WARM_SECONDS, rate=0.0, turns=turns)
                processes = [server.pid, *children(server.pid)]
                before = cpu_seconds(processes)
                load = loaded([server], seconds, rate=0.0, turns=turns)
                used = cpu_seconds(processes) - before
        done = len(load.answers)
        errors = sum(count for status, count in load.statuses.items() if status >= 400)
        what = f"{name}, workers: {workers}; {CLIENTS} clients without a pause, {errors} errors"
        figures.append((what, f"{done / seconds:.0f}/s", f"{done / used:.0f} a core"))
    return figures


def figures(seconds: int = SECONDS) -> list[tuple[str, str, str]]:
    """One server with a store in a file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Served(Path(folder), **SETTINGS)) as server:
        load = loaded([server], seconds)
        return rows(load, seconds, CLIENTS, RATE, lost([server], load))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--workers", default="", help="numbers of workers, such as 1,2")
    options = parser.parse_args()
    numbers = [int(number) for number in options.workers.split(",") if number]
    measured = [row for number in numbers for row in throughput(number, options.seconds)]
    for what, figure, ratio in measured or figures(options.seconds):
        print(f"{what:58} {figure:>12} {ratio:>10}")
