"""A team's memory: 32 clients on two server processes over one PostgreSQL, by REST and MCP, writing and asking.

`python -m benchmarks.team --seconds 60`; with `--kill` the database server is killed with -9 in the middle and started
again: until it is back servers have to say that they are unavailable, and afterwards work again by themselves.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.postgres_process import PostgresProcess, running

from benchmarks.http_load import MIXED, SETTINGS, UNAVAILABLE, Load, loaded, lost, rows
from benchmarks.run import table
from benchmarks.tool_clients import Served

SERVERS, CLIENTS, SECONDS, RATE = 2, 32, 60, 60.0
DATABASE = "team"
# So long the database server is away.
AWAY_SECONDS = 5.0


@dataclass(slots=True)
class Outage:
    """When the database server was killed, and when it answered again."""

    killed: float = 0.0
    back: float = 0.0

    def happen(self, server: PostgresProcess, after: float) -> None:
        time.sleep(after)
        self.killed = time.perf_counter()
        server.kill()
        time.sleep(AWAY_SECONDS)
        server.start()
        self.back = time.perf_counter()

    def rows(self, load: Load) -> list[tuple[str, str, str]]:
        """How soon each server worked again, and what it answered until then."""
        output = [answer for answer in load.answers if answer.status == UNAVAILABLE]
        recovered = [
            min(
                answer.at
                for answer in load.answers
                if answer.server == n and answer.at > self.back and answer.status < 400
            )
            - self.back
            for n in range(SERVERS)
        ]
        last = max((answer.at for answer in output), default=self.back) - self.back
        early = sum(answer.at < self.killed for answer in output)
        other = sum(answer.status >= 400 and answer.status != UNAVAILABLE for answer in load.answers)
        return [
            ("database server away", f"{self.back - self.killed:.1f} s", ""),
            ("answers that it is unavailable", f"{len(output):,}", f"{early} too early"),
            ("first answer of the slower server after it was back", f"{max(recovered):.2f} s", ""),
            ("last answer that it is unavailable, after it was back", f"{last:.2f} s", ""),
            ("other errors", f"{other}", ""),
        ]


@contextlib.contextmanager
def team(embedder: str) -> Iterator[tuple[PostgresProcess, list[Served]]]:
    """A database server that syncs to the disk, and servers in front of it."""
    with tempfile.TemporaryDirectory() as folder, running(("shared_buffers=256MB",)) as postgres:
        postgres.run(f"CREATE DATABASE {DATABASE}")
        settings = SETTINGS | {"database_url": postgres.address(DATABASE), "embedder": embedder}
        with contextlib.ExitStack() as ending:
            servers = []
            for _ in range(SERVERS):
                servers.append(Served(Path(folder), **settings))
                ending.callback(servers[-1].close)
            yield postgres, servers


def measured(seconds: float, rate: float, embedder: str, *, kill: bool) -> tuple[list[tuple[str, str, str]], Load]:
    with team(embedder) as (postgres, servers):
        outage = Outage()
        killing = threading.Thread(target=outage.happen, args=(postgres, seconds / 3))
        if kill:
            killing.start()
        load = loaded(servers, seconds, CLIENTS, rate, MIXED)
        if kill:
            killing.join()
        figures = rows(load, seconds, CLIENTS, rate, lost(servers, load))
        return (figures + outage.rows(load) if kill else figures), load


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--rate", type=float, default=RATE, help="requests per second of all together; 0: no pause")
    parser.add_argument("--embedder", default="off", help="builtin: give everything a vector, too")
    parser.add_argument("--kill", action="store_true", help="kill the database server in the middle")
    options = parser.parse_args(arguments)
    figures, load = measured(options.seconds, options.rate, options.embedder, kill=options.kill)
    table("A team", figures)
    for strange in load.strange[:20]:
        print(strange)


if __name__ == "__main__":
    main()
