"""Both engines side by side in one run: `python -m benchmarks.engines`, and `--spaces 1000` for many small spaces.

The same items are written to a SQLite file and to a PostgreSQL server, with the same vectors; then every question is
asked of both in turn, in this process, by the verb behind `search` with its default options. The server is one of our
own with a gigabyte of shared buffers and everything synced to disk, or the one that `--server` names.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.postgres_server import PostgresServer, running_server

from benchmarks import many_spaces
from benchmarks.corpus import common_questions, mixed_questions, questions, strict_queries
from benchmarks.many_spaces import Row
from benchmarks.process_memory import MB, memory_mb
from benchmarks.run import table
from benchmarks.sizes import file_mb, server_mb
from benchmarks.stores import give_vectors, write
from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.model import Scope

ENGINES = ("sqlite", "postgres")
SETTINGS = ("shared_buffers=1GB", "max_wal_size=4GB")
FIRST = 10
WRITTEN = "all of it"


@dataclass(slots=True)
class QuestionResults:
    """How long each engine took for a sort of questions, and how much of the first ten they have in common."""

    seconds: Mapping[str, list[float]] = field(default_factory=lambda: {engine: [] for engine in ENGINES})
    overlap: list[float] = field(default_factory=list)

    def median_ms(self, engine: str) -> float:
        return statistics.median(self.seconds[engine]) * 1000


@dataclass(frozen=True, slots=True)
class Places:
    """Where the stores of a run are: a folder for files, a server for databases."""

    folder: Path
    server: PostgresServer

    def settings(self, engine: str, name: str) -> dict[str, str]:
        """Where the store of this name is, beside its folder."""
        return {"database_url": self.server.address(f"commonplace_bench_{name}")} if engine == "postgres" else {}

    def memory(self, engine: str, name: str, space: str = "default", embedder: str = "builtin") -> LocalMemory:
        settings = {"data_dir": str(self.folder / engine / name), "space": space, "embedder": embedder}
        return open_memory(config.load(settings | self.settings(engine, name), env={}))

    def disk_mb(self, engine: str, name: str) -> float:
        if engine == "sqlite":
            return file_mb(config.load({"data_dir": str(self.folder / engine / name)}, env={}).database)
        ((size,),) = self.server.run(f"SELECT pg_database_size('commonplace_bench_{name}')")
        return float(size) / MB

    def is_written(self, name: str) -> bool:
        """Whether an earlier run has written all of it."""
        content = (
            f"SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'commonplace_bench_{name}'"
        )
        return self.server.run(content) == [(WRITTEN,)]

    def set_written(self, name: str) -> None:
        self.server.run(f"COMMENT ON DATABASE commonplace_bench_{name} IS '{WRITTEN}'")


def loaded(places: Places, size: int) -> list[Row]:
    """Write the same items and vectors to both, and tell how long that took; nothing if they are there already."""
    name = f"items_{size}"
    if places.is_written(name):
        return []
    places.server.new_database(f"commonplace_bench_{name}")
    taken: dict[str, dict[str, float]] = {"items": {}, "vectors": {}}
    for engine in ENGINES:
        with contextlib.closing(places.memory(engine, name, embedder="off")) as memory:
            taken["items"][engine] = write(memory, size)
            began = time.perf_counter()
            give_vectors(memory)
            taken["vectors"][engine] = time.perf_counter() - began
    places.set_written(name)
    return [
        (f"{size:,} {what}, {engine}", f"{seconds[engine]:.1f} s", f"{seconds[engine] / seconds[ENGINES[0]]:.2f} x")
        for what, seconds in taken.items()
        for engine in ENGINES
    ]


def sorts(count: int) -> dict[str, list[tuple[str, Scope]]]:
    """Questions of several sorts, with where to look."""
    return {
        "three words": [(text, Scope()) for text in questions(count)],
        "five words, two of them common": [(text, Scope()) for text in mixed_questions(count)],
        "common words only": [(text, Scope()) for text in common_questions(count)],
        "a sentence": [(f"what did we decide about the {text}?", Scope()) for text in questions(count, seed=37)],
        "in a project": [
            (text, Scope(project=f"project-{n % 50}")) for n, text in enumerate(questions(count, seed=17))
        ],
        "with operators": [(text, Scope()) for text in strict_queries(count)],
    }


def ask(memories: Mapping[str, LocalMemory], results: Sequence[tuple[str, Scope]]) -> QuestionResults:
    """Ask both engines in turn; who comes first changes with every question."""
    result = QuestionResults()
    for number, (text, scope) in enumerate(results):
        found: dict[str, set[int]] = {}
        for engine in ENGINES[:: -1 if number % 2 else 1]:
            began = time.perf_counter()
            hits = recall(memories[engine], text, scope, FIRST).hits
            result.seconds[engine].append(time.perf_counter() - began)
            # Ids may differ; each item was said in a minute of its own.
            found[engine] = {hit.item.created_ms for hit in hits}
        most = max(map(len, found.values()))
        result.overlap.append(len(set.intersection(*found.values())) / most if most else 1.0)
    return result


def compared(memories: Mapping[str, LocalMemory], count: int) -> list[Row]:
    """A row for each sort of questions and engine, and for what the answers have in common."""
    for memory in memories.values():
        recall(memory, "warm up the model and the matrix", Scope())
    rows: list[Row] = []
    overlaps, all_of_them = [], QuestionResults()
    for name, results in sorts(count).items():
        result = ask(memories, results)
        rows += _rows(name, result)
        overlaps.append(_overlap(name, result.overlap))
        all_of_them.overlap.extend(result.overlap)
        for engine in ENGINES:
            all_of_them.seconds[engine].extend(result.seconds[engine])
    return [*rows, *_rows("all of them", all_of_them), *overlaps, _overlap("all of them", all_of_them.overlap)]


def _rows(name: str, result: QuestionResults) -> Iterator[Row]:
    base = result.median_ms(ENGINES[0])
    for engine in ENGINES:
        yield f"{name}, {engine}", f"{result.median_ms(engine):.1f} ms", f"{result.median_ms(engine) / base:.1f} x"


def _overlap(name: str, shares: Sequence[float]) -> Row:
    worst = sum(share < 0.9 for share in shares)
    return f"first ten in common, {name}", f"{statistics.mean(shares):.1%}", f"{worst} below"


def sizes(places: Places, name: str) -> Iterator[Row]:
    """What a store takes on disk, and a server of it in memory."""
    results = [*questions(20), *common_questions(20)]
    for engine in ENGINES:
        memory = server_mb(places.folder / engine / name, places.settings(engine, name), results)
        yield f"on disk, {engine}", f"{places.disk_mb(engine, name):,.0f} MB", ""
        yield f"memory of a server, {engine}", f"{memory:,.0f} MB", ""


def small_spaces(places: Places, spaces: int, items: int, count: int) -> list[Row]:
    """Many spaces in one database: a search inside one of them."""
    name = f"spaces_{spaces}_{items}"
    rows: list[Row] = []

    def opened(space: str, embedder: str) -> LocalMemory:
        return places.memory("postgres", name, space, embedder)

    if not places.is_written(name):
        address = places.server.new_database(f"commonplace_bench_{name}")
        began = time.perf_counter()
        many_spaces.fill(address, opened, spaces, items)
        rows.append((f"{spaces:,} spaces of {items:,} items made", f"{time.perf_counter() - began:.0f} s", ""))
        places.set_written(name)
    rows += many_spaces.figures(opened, spaces, sorts(max(1, count // 10)))
    rows.append(("on disk", f"{places.disk_mb('postgres', name):,.0f} MB", ""))
    return [*rows, (f"memory of a process that asked {many_spaces.ASKED} of them", f"{memory_mb():,.0f} MB", "")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000, help="items in each store")
    parser.add_argument("--questions", type=int, default=40, help="of each sort")
    parser.add_argument("--spaces", type=int, help="so many small spaces in one database instead")
    parser.add_argument("--count", type=int, default=1000, help="items in each of them")
    parser.add_argument("--keep", type=Path, help="folder for the files, for the next run with the same server")
    parser.add_argument("--server", help="address of a server that keeps the databases; one of our own if omitted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, running_server(options.server, SETTINGS) as server:
        places = Places(options.keep or Path(temporary), server)
        places.folder.mkdir(parents=True, exist_ok=True)
        if options.spaces:
            rows = small_spaces(places, options.spaces, options.count, options.questions)
            table(f"{options.spaces:,} spaces", rows)
            return
        if rows := loaded(places, options.size):
            table("Written", rows)
        name = f"items_{options.size}"
        with contextlib.ExitStack() as open_memories:
            memories = {e: open_memories.enter_context(contextlib.closing(places.memory(e, name))) for e in ENGINES}
            table(f"Search among {options.size:,} items", compared(memories, options.questions))
        table("Size", sizes(places, name))


if __name__ == "__main__":
    main()
