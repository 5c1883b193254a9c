"""Write 1,000 one-line facts over MCP and ask about them at once: `python -m benchmarks.asked_at_once`.

The facts are much alike: five sentences, each said of 200 projects whose invented names are the only difference. Every
tenth is asked about, in other words, through `search` of a real server over stdio: once right after the last write,
while most passages have no vector yet, and once more when all have one. What counts is how often the right fact comes
first, and how long a question takes in the second round, when nothing waits for a vector.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.client import StdioClient, commonplace_server, median_ms

FACTS, ASKED = 1_000, 100
# A sentence about a project, and a question that it answers.
SENTENCES = (
    ("The staging database of project {} listens on port {}.", "Which port does {}'s staging database use?"),
    ("Project {} is deployed to production every {} days.", "How often does {} go to production?"),
    ("The on-call phone of team {} has the extension {}.", "What extension do I dial to reach {}'s on-call?"),
    ("Backups of {} are kept for {} days.", "How long do we keep the backups of {}?"),
    ("The rate limit of the {} API is {} requests per minute.", "How many requests a minute does the {} API allow?"),
)
_BEGINNINGS = ("Ba", "Dor", "Fen", "Gal", "Hes", "Jun", "Kel", "Lom", "Mir", "Nav", "Or", "Pel", "Quo", "Ras")
_ENDINGS = ("bin", "dal", "fex", "gor", "hus", "kim", "lan", "mok", "nis", "pra", "rud", "sot", "tiv", "vek", "zan")
# How long the vectors of all facts may take.
BOUND = 300.0


@dataclass(frozen=True, slots=True)
class Round:
    """How one round of questions went."""

    first: int
    results: int
    median_ms: float
    slowest_ms: float

    def __str__(self) -> str:
        share = 100 * self.first / self.results
        return f"right one first {share:.0f} %, median {self.median_ms:.1f} ms, slowest {self.slowest_ms:.0f} ms"


def facts(count: int) -> list[tuple[str, str]]:
    """Facts, each with the question that it answers. Those of one project stand far apart."""
    names = ["".join(parts) for parts in product(_BEGINNINGS, _ENDINGS)][: -(-count // len(SENTENCES))]
    made = []
    for number, ((sentence, question), name) in enumerate(product(SENTENCES, names)):
        made.append((sentence.format(name, 5000 + 7 * number % 1999), question.format(name)))
    return made[:count]


def results(server: StdioClient, pairs: Sequence[tuple[str, str]]) -> Round:
    """Ask each question; count those whose own fact comes first."""
    first, seconds = 0, []
    for fact, question in pairs:
        began = time.perf_counter()
        found = server.call("search", query=question)["observations"]
        seconds.append(time.perf_counter() - began)
        first += bool(found) and found[0]["text"] == fact
    return Round(first, len(pairs), median_ms(seconds), 1000 * max(seconds))


def pending(data_dir: Path) -> int:
    """How many passages wait for their vectors, as `status` says."""
    command, env = commonplace_server(data_dir)
    printed = subprocess.run([*command[:-1], "status", "--json"], env=env, check=True, capture_output=True)
    return int(json.loads(printed.stdout)["pending"])


def measured(data_dir: Path, count: int = FACTS, questions: int = ASKED, **settings: str) -> tuple[int, Round, Round]:
    """How many passages waited after the last write, and both rounds: at once, and with all vectors made."""
    pairs = facts(count)
    chosen = pairs[:: max(1, count // questions)][:questions]
    with StdioClient(*commonplace_server(data_dir, profile="all", **settings)) as server:
        server.call("search", query="Is anybody there?")
        for fact, _question in pairs:
            server.call("add_memory", content=fact, type="fact")
        waiting = pending(data_dir)
        at_once = results(server, chosen)
        end = time.monotonic() + BOUND
        while pending(data_dir) and time.monotonic() < end:
            time.sleep(1.0)
        results(server, chosen)
        return waiting, at_once, results(server, chosen)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=FACTS)
    parser.add_argument("--questions", type=int, default=ASKED)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        waiting, at_once, later = measured(Path(folder) / "data", options.facts, options.questions)
    print(f"{options.facts:,} facts written, {waiting:,} without a vector when the first question came")
    print(f"asked at once:     {at_once}")
    print(f"with all vectors:  {later}")


if __name__ == "__main__":
    main()
