"""Server time of the dashboard's pages on a large memory, and of what is asked while somebody types.

`python -m benchmarks.dashboard --items 100000` measures every page that shows something without being told what, the
suggestions of the search box for every letter that is typed, and the search for the same text. On a machine that is
busy with other work times are long: what a page costs is the processor time of the server.
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
from urllib.parse import quote_plus

from benchmarks.process_memory import cpu_seconds
from benchmarks.stores import store_of
from benchmarks.tool_clients import Served

REPEAT = 15
TYPED = (
    "how do we keep users logged in after a restart",
    "redis session timeout",
    "postgres migration fails",
    "service configuration",
)
PAGES = (
    "/",
    "/projects/project-1",
    "/search",
    "/timeline",
    "/conversations",
    "/rules",
    "/about",
    "/review",
    "/review/count",
    "/topics",
    "/feed",
    "/settings",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "commonplace-bench")
    parser.add_argument("--typing", action="store_true", help="only what is asked while somebody types")
    given = parser.parse_args()
    built = store_of(given.items, given.folder)
    with closing(Served(built.data_dir, embedder="builtin", rate_limit="100000", rate_burst="100000")) as served:
        connection = HTTPConnection("127.0.0.1", served.port, timeout=120)
        print(f"{given.items:,} items\n\n| page | processor ms | median ms | 95 % ms | KB |\n|---|---|---|---|---|")
        _took(connection, served, f"/search?q={quote_plus(TYPED[0])}", part="results")  # loads the models
        for path in () if given.typing else PAGES:
            _took(connection, served, path)
            _measured(connection, served, path, [(path, "")] * REPEAT)
        for name, path, part in (("suggestions", "/find", "options"), ("search", "/search", "results")):
            requested = [(f"{path}?q={text}", part) for text in _typing()]
            _measured(connection, served, f"{name}, letter by letter", requested)


def _typing() -> Iterator[str]:
    """What the box holds while somebody types each of the texts."""
    for text in TYPED:
        for end in range(2, len(text) + 1):
            yield quote_plus(text[:end])


def _took(connection: HTTPConnection, served: Served, path: str, part: str = "") -> tuple[float, int]:
    headers = {"Authorization": f"Bearer {served.key}", "Accept": "text/html", **({"X-Part": part} if part else {})}
    started = time.perf_counter()
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    size = len(answer.read())
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}")
    return (time.perf_counter() - started) * 1000, size


def _measured(connection: HTTPConnection, served: Served, name: str, questions: Sequence[tuple[str, str]]) -> None:
    """Ask for pages or parts of them, and print a row with what each took."""
    before = cpu_seconds([served.pid])
    answers = [_took(connection, served, path, part) for path, part in questions]
    processor = 1000 * (cpu_seconds([served.pid]) - before) / len(questions)
    times = sorted(ms for ms, _size in answers)
    late = times[min(len(times) - 1, int(0.95 * len(times)))]
    size = answers[-1][1] / 1024
    print(f"| {name} | {processor:.0f} | {statistics.median(times):.1f} | {late:.1f} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main()
