"""Server time of the dashboard's pages on a large memory, and of a search as one types.

`python -m benchmarks.dashboard --items 100000` measures every page that shows something without being told what.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.stores import store_of
from benchmarks.tool_clients import Served

REPEAT = 15
TYPED = "how do we keep users logged in after a restart"
PAGES = (
    "/",
    "/search",
    "/timeline",
    "/conversations",
    "/rules",
    "/topics",
    "/prune",
    "/feed",
    "/settings",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "commonplace-bench")
    given = parser.parse_args()
    built = store_of(given.items, given.folder)
    with closing(Served(built.data_dir, embedder="builtin", rate_limit="100000", rate_burst="100000")) as served:
        connection = HTTPConnection("127.0.0.1", served.port, timeout=120)
        print(f"{given.items:,} items\n\n| page | median ms | slowest ms | KB |\n|---|---|---|---|")
        for path in PAGES:
            times, size = zip(*(_took(connection, served, path) for _ in range(REPEAT)), strict=True)
            _row(path, times[1:], size[-1])
        for _round in range(2):
            typed = [_took(connection, served, path, part="results") for path in _typing()]
        _row("search as you type", [ms for ms, _size in typed], typed[-1][1])


def _typing() -> Iterator[str]:
    """What a browser asks while somebody types a question."""
    for end in range(2, len(TYPED) + 1):
        yield f"/search?q={TYPED[:end].replace(' ', '+')}"


def _took(connection: HTTPConnection, served: Served, path: str, part: str = "") -> tuple[float, int]:
    headers = {"Authorization": f"Bearer {served.key}", "Accept": "text/html", **({"X-Part": part} if part else {})}
    started = time.perf_counter()
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    size = len(answer.read())
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}")
    return (time.perf_counter() - started) * 1000, size


def _row(name: str, times: Sequence[float], size: int) -> None:
    print(f"| {name} | {statistics.median(times):.1f} | {max(times):.1f} | {size / 1024:.0f} |")


if __name__ == "__main__":
    main()
