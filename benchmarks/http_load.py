"""A busy server: sixteen clients on loopback, mixed reads and writes, and whether anything acknowledged is lost.

`python -m benchmarks.http_load --seconds 20` runs it alone.
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
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.doors import Served

CLIENTS, SECONDS, RATE = 16, 60, 240.0
SETTINGS = {"embedder": "off", "rate_limit": "100000", "rate_burst": "100000"}
# Of ten requests: how many store a conversation; the others read, search and list.
_WRITES = 3
_ALL = "/api/v1/conversations"


@dataclass(slots=True)
class Load:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    acknowledged: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def figures(seconds: int = SECONDS) -> list[tuple[str, str, str]]:
    """Requests per second, errors, and what was lost."""
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Served(Path(folder), **SETTINGS)) as server:
        port, key = server.port, server.key
        load = Load()
        began = time.perf_counter()
        clients = [threading.Thread(target=_client, args=(n, port, key, began + seconds, load)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        taken = time.perf_counter() - began
        lost = sum(not _there(port, key, id_, content) for id_, content in load.acknowledged.items())
    done = len(load.seconds)
    errors = sum(count for status, count in load.statuses.items() if status >= 400)
    slowest = statistics.quantiles(load.seconds, n=100)[98]
    return [
        (f"{CLIENTS} clients for {seconds} s, {RATE:.0f}/s wanted", f"{done / taken:.0f}/s", f"{done:,}"),
        ("answers, median", f"{statistics.median(load.seconds) * 1000:.1f} ms", "1.0 x"),
        ("answers, 99 of 100", f"{slowest * 1000:.1f} ms", f"{slowest / statistics.median(load.seconds):.1f} x"),
        ("errors", f"{errors}", f"{errors / max(1, done):.2%}"),
        (f"lost of {len(load.acknowledged):,} acknowledged writes", f"{lost}", f"{lost:.0f}"),
    ]


def _client(number: int, port: int, key: str, until: float, load: Load) -> None:
    """One client with a connection of its own, at its share of the rate."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    mine: list[str] = []
    turn = 0
    start = time.perf_counter()
    while (now := time.perf_counter()) < until:
        turn += 1
        time.sleep(max(0.0, start + turn * CLIENTS / RATE - now))
        began = time.perf_counter()
        if turn % 10 < _WRITES or not mine:
            content = f"client {number} says {turn}: the deploy of part {turn % 7} waits for review {number * turn}"
            body = {"label": f"Load {number}", "folder": f"/load/{number}", "messages": _said(content)}
            status, told = _asked(connection, key, "POST", _ALL, body)
            if status == 201:
                mine.append(told["id"])
                with load.lock:
                    load.acknowledged[told["id"]] = content
        elif turn % 10 < 6:
            status, _ = _asked(connection, key, "GET", f"{_ALL}/{mine[turn % len(mine)]}")
        elif turn % 10 < 8:
            status, _ = _asked(connection, key, "POST", "/api/v1/query", {"query": f"deploy of part {turn % 7}"})
        else:
            status, _ = _asked(connection, key, "GET", f"{_ALL}?folder=/load/{number}&page_size=10")
        with load.lock:
            load.seconds.append(time.perf_counter() - began)
            load.statuses[status] += 1
    connection.close()


def _said(content: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content}]


def _asked(connection: HTTPConnection, key: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def _there(port: int, key: str, id_: str, content: str) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        status, told = _asked(connection, key, "GET", f"{_ALL}/{id_}")
    return status == 200 and told["messages"][0]["content"] == content


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    for what, figure, ratio in figures(parser.parse_args().seconds):
        print(f"{what:58} {figure:>12} {ratio:>10}")
