"""Everything in one run: `make bench`, or `python -m benchmarks.run --sizes 1000,10000 --keep FOLDER`.

Machines are noisy, so what counts are the ratios within one run. Stores are made once in FOLDER and used again.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks import calls, conversations, embedding, graph, hooks, http_load, start
from benchmarks.stores import store_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = "1000,10000,100000,1000000"
    parser.add_argument("--sizes", default=sizes, help="store sizes; a million items take minutes to write")
    parser.add_argument("--keep", type=Path, help="folder for the stores; a temporary one if omitted")
    parser.add_argument(
        "--only",
        choices=("start", "writes", "reads", "questions", "embedding", "graph", "conversations", "hooks", "http"),
        help="one part of it",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = options.keep or Path(temporary)
        if options.only in (None, "start"):
            table("Start", start.figures(folder))
        if options.only in (None, "writes"):
            table("Write", calls.writes())
        if options.only in (None, "questions"):
            table("Questions", calls.real_questions(folder))
        if options.only in (None, "embedding"):
            table("Embedding", embedding.figures())
        if options.only in (None, "graph"):
            table("Graph", graph.figures(folder))
        if options.only in (None, "conversations"):
            table("Conversations", conversations.figures(folder))
        if options.only in (None, "hooks"):
            table("Hooks", hooks.figures(folder))
        if options.only in (None, "http"):
            table("HTTP", http_load.figures())
        if options.only in (None, "reads"):
            smallest: dict[str, float] = {}
            for size in map(int, options.sizes.split(",")):
                built = store_of(size, folder)
                rate = f"{size / built.ingest_seconds:,.0f}/s"
                rows = [(f"{size:,} items written", f"{built.ingest_seconds:.1f} s", rate)]
                table(f"{size:,} items", rows + calls.reads(built, smallest))


def table(title: str, rows: Iterable[tuple[str, str, str]]) -> None:
    print(f"\n## {title}\n")
    print(f"| {'what':58} | {'figure':>12} | {'ratio':>10} |")
    print(f"|{'-' * 60}|{'-' * 13}:|{'-' * 11}:|")
    for what, figure, ratio in rows:
        print(f"| {what:58} | {figure:>12} | {ratio:>10} |", flush=True)


if __name__ == "__main__":
    main()
