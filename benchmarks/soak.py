"""A soak: twenty clients on one server, steadily, by REST and MCP; does anything of it grow that should not?

    python -m benchmarks.soak --minutes 10 --plots docs/pictures

Each client forgets what it stored once it has some of it, so that the memory that is asked stays as large as it is.
Every five seconds the server's memory, handles, threads and log are read, and how long its answers took. The verdict
compares the time just after the warm-up with the end. Needs Linux, whose /proc tells all of this.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import statistics
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.http_load import MIXED, SETTINGS, Client, Load, Turn, loaded, lost, read_one
from benchmarks.plots import plot
from benchmarks.process_memory import memory_mb
from benchmarks.run import table
from benchmarks.stores import store_of
from benchmarks.tool_clients import Served
from commonplace import config

CLIENTS, MINUTES, RATE, ITEMS = 20, 10.0, 40.0, 10_000
# What each client keeps of its own.
KEPT = 40
YARDSTICK = bytes(4_000_000)
EVERY_SECONDS = 5.0
# Of the whole time, until caches are filled and threads are there; of the rest, what is compared with each other.
WARM_UP, SHARE = 0.2, 0.2
MOST_GROWTH = 0.05
# The log is cut to this when it was folded into the file (store/sqlite/database.py).
MOST_LOG_MB = 64.0


@dataclass(frozen=True, slots=True)
class Sample:
    """The server at one moment, and the answers since the moment before."""

    seconds: float
    memory_mb: float
    handles: int
    threads: int
    log_mb: float
    answers: int
    median_ms: float
    slowest_ms: float
    """99 of 100 were quicker."""
    yardstick_ms: float
    """What the same work took at that moment: how fast the machine was."""


def forget_oldest(client: Client, turn: int) -> int:
    """The oldest of a client's own, or read one as long as there are few."""
    if len(client.mine) <= KEPT:
        return read_one(client, turn)
    return client.forget(client.mine[0])


# Four of MIXED store something.
STEADY: tuple[Turn, ...] = (*MIXED, *[forget_oldest] * 4)


class Samples:
    """Looks at a server every few seconds, until told to stop."""

    def __init__(self, server: Served, log: Path, load: Load) -> None:
        self._server, self._log, self._load = server, log, load
        self._began, self._seen = time.perf_counter(), 0
        self._stop = threading.Event()
        self.taken: list[Sample] = []
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> list[Sample]:
        self._stop.set()
        self._thread.join()
        return self.taken

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            self.taken.append(self._sample())

    def _sample(self) -> Sample:
        process = Path(f"/proc/{self._server.pid}")
        with self._load.lock:
            recent = [answer.seconds * 1000 for answer in self._load.answers[self._seen :]]
            self._seen += len(recent)
        cuts = statistics.quantiles(recent, n=100) if len(recent) > 1 else [0.0] * 99
        return Sample(
            seconds=time.perf_counter() - self._began,
            memory_mb=memory_mb(self._server.pid),
            handles=sum(1 for _ in (process / "fd").iterdir()),
            threads=sum(1 for _ in (process / "task").iterdir()),
            log_mb=self._log.stat().st_size / 1e6 if self._log.exists() else 0.0,
            answers=len(recent),
            median_ms=cuts[49],
            slowest_ms=cuts[98],
            yardstick_ms=yardstick_ms(),
        )


def yardstick_ms() -> float:
    """How long the same work takes, at its quickest of a few times."""
    return min(timeit.repeat(lambda: hashlib.sha256(YARDSTICK).digest(), number=1, repeat=5)) * 1000


Measure = Callable[[Sample], float]
MEASURES: dict[str, tuple[Measure, float | None]] = {
    "memory, MB": (lambda one: one.memory_mb, MOST_GROWTH),
    "handles": (lambda one: one.handles, MOST_GROWTH),
    "threads": (lambda one: one.threads, MOST_GROWTH),
    "answers, median ms": (lambda one: one.median_ms, None),
    "answers, 99 of 100, ms": (lambda one: one.slowest_ms, None),
    "the machine: the same work, ms": (lambda one: one.yardstick_ms, None),
}


def after_warm_up(samples: Sequence[Sample]) -> list[Sample]:
    return [one for one in samples if one.seconds >= samples[-1].seconds * WARM_UP]


def growth(samples: Sequence[Sample], measure: Measure) -> tuple[float, float]:
    """What it is just after the warm-up, and at the end: medians, so that one moment does not decide."""
    warm = after_warm_up(samples)
    some = max(1, round(len(warm) * SHARE))
    return statistics.median(map(measure, warm[:some])), statistics.median(map(measure, warm[-some:]))


def slope_an_hour(samples: Sequence[Sample], measure: Measure) -> float:
    """How much more it would be after an hour, by the line through all samples after the warm-up."""
    warm = after_warm_up(samples)
    if len(warm) < 2:
        return 0.0
    return statistics.linear_regression([one.seconds for one in warm], [measure(one) for one in warm]).slope * 3600


def verdict(samples: Sequence[Sample]) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Rows for people, and what grew more than it may."""
    rows, wrong = [], []
    for name, (measure, most) in MEASURES.items():
        start, end = growth(samples, measure)
        share = end / start - 1 if start else 0.0
        rows.append((name, f"{start:,.1f} -> {end:,.1f}", f"{share:+.1%}, {slope_an_hour(samples, measure):+,.1f}/h"))
        if most is not None and share > most:
            wrong.append(f"{name} grew by {share:.1%}")
    largest = max(one.log_mb for one in samples)
    rows.append(("log of the store, most, MB", f"{largest:.1f}", f"limit {MOST_LOG_MB:.0f}"))
    return rows, wrong + ([f"the log grew to {largest:.0f} MB"] if largest > MOST_LOG_MB else [])


def plots(samples: Sequence[Sample], folder: Path) -> None:
    """Pictures of what was measured."""
    warm = samples[-1].seconds * WARM_UP / 60

    def points(measure: Measure) -> list[tuple[float, float]]:
        return [(one.seconds / 60, measure(one)) for one in samples]

    pictures: dict[str, tuple[str, dict[str, list[tuple[float, float]]]]] = {
        "memory": ("Memory of the server, MB", {"resident": points(lambda one: one.memory_mb)}),
        "latency": (
            "Answers, ms",
            {
                "median": points(lambda one: one.median_ms),
                "99 of 100": points(lambda one: one.slowest_ms),
                "the same work each time": points(lambda one: one.yardstick_ms),
            },
        ),
        "handles": (
            "Open handles and threads",
            {"handles": points(lambda one: one.handles), "threads": points(lambda one: one.threads)},
        ),
        "log": ("Log of the store, MB", {"log": points(lambda one: one.log_mb)}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, lines) in pictures.items():
        (folder / f"soak-{name}.svg").write_text(plot(title, "minutes", lines, warm), encoding="utf-8")


def soaked(minutes: float, rate: float, embedder: str) -> tuple[list[Sample], Load, int]:
    """What was sampled, what the clients saw, and how much of what they were told is kept is not there."""
    with tempfile.TemporaryDirectory() as folder:
        # Of a memory that is in use already: in an empty one every cache would grow with it.
        settings = config.load({"data_dir": str(store_of(ITEMS, Path(folder)).data_dir)}, env={})
        log = settings.database.with_name(settings.database.name + "-wal")
        with contextlib.closing(Served(settings.data_dir, **(SETTINGS | {"embedder": embedder}))) as server:
            load = Load()
            samples = Samples(server, log, load)
            try:
                loaded([server], minutes * 60, CLIENTS, rate, STEADY, load)
            finally:
                taken = samples.stop()
            return taken, load, lost([server], load)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--rate", type=float, default=RATE, help="requests per second of all clients together")
    parser.add_argument("--embedder", default="builtin", help="off: no vectors")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="leave pictures there")
    options = parser.parse_args(arguments)
    samples, load, missing = soaked(options.minutes, options.rate, options.embedder)
    rows, wrong = verdict(samples)
    if options.plots is not None:
        plots(samples, options.plots)
    errors = sum(count for status, count in load.statuses.items() if status >= 400)
    wrong += [f"{errors} errors"] * bool(errors) + [f"{missing} writes lost"] * bool(missing)
    questions = f"{len(load.answers):,} answers, of what was stored {len(load.acknowledged):,} not forgotten"
    table(f"{CLIENTS} clients for {options.minutes:g} minutes: {questions}", rows)
    for strange in load.strange[:5]:
        print(strange)
    print("; ".join(wrong) if wrong else "Nothing grows.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
