"""Several processes on one file: no locked error, nothing lost, not even to kill -9; backups and forks among them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from commonplace.model import Scope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.sqlite.store import SqliteStore
from commonplace.text.query import parse_query

if TYPE_CHECKING:
    from tests.store.sqlite.conftest import Run, Start

Ended = Callable[[subprocess.Popen[str]], list[str]]
posix = pytest.mark.skipif(os.name != "posix", reason="fork")

WRITE = """
store = SqliteStore(Path(sys.argv[1]))
say("ready")
sys.stdin.readline()
for n in range(int(sys.argv[3])):
    (stored,) = store.put([draft(f"walrus {sys.argv[2]} {n}", project=f"p{n % 3}", session=f"s{n % 2}")], NOW)
    say(stored.id)
    if n % 5 == 4:
        store.forget([stored.id], NOW)
        store.restore([stored.id], NOW)
"""
READ = """
store = SqliteStore(Path(sys.argv[1]))
say("ready")
sys.stdin.readline()
for n in range(int(sys.argv[3])):
    assert all(item.project == "p1" for item in store.newest(Scope(project="p1"), 1000))
    hits = found(store, "walrus*")
    assert sorted(store.get(hits)) == hits
    counts = store.counts()
    assert counts.passages == sum(counts.items.values()) + counts.forgotten
say("fine")
"""


def go(*processes: subprocess.Popen[str]) -> None:
    """Let all of them begin at the same time."""
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n", process.communicate()
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()


def found(store: SqliteStore, query: str) -> set[int]:
    return {hit.item_id for hit in store.search_text(parse_query(query, QUERY_COLUMNS), Scope(), 10_000).hits}


def check(path: Path, acknowledged: set[int], *, forgetting: bool = False) -> None:
    """Everything acknowledged is there, is indexed, is counted; the file is sound."""
    store = SqliteStore(path)
    items = store.get(acknowledged)
    assert set(items) == acknowledged
    live = {item.id for item in store.newest(Scope(), 100_000)}
    # Killed between forgetting and restoring, an item may be forgotten, but never lost.
    assert {id_ for id_, item in items.items() if item.forgotten_ms is None} <= live
    assert forgetting or acknowledged <= live
    counts = store.counts()
    assert sum(counts.items.values()) == counts.pending == len(live)
    assert counts.passages == len(live) + counts.forgotten
    assert sum(project.items for project in store.projects()) == len(live)
    passages = {passage for group in store.passages_of(sorted(live)).values() for passage in group}
    store.close()
    connection = apsw.Connection(str(path))
    assert {row[0] for row in connection.execute("SELECT rowid FROM passages_fts")} == passages
    connection.execute("INSERT INTO passages_fts (passages_fts, rank) VALUES ('integrity-check', 0)")
    assert connection.pragma("integrity_check") == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_processes_write_and_read_at_once_and_nothing_is_lost(tmp_path: Path, start: Start, ended: Ended) -> None:
    path = tmp_path / "store.db"
    writers = [start(WRITE, path, f"writer{n}", 40) for n in range(3)]
    reader = start(READ, path, "reader", 25)
    go(*writers, reader)
    acknowledged = [int(line) for writer in writers for line in ended(writer)]
    assert ended(reader) == ["fine"]
    assert len(acknowledged) == len(set(acknowledged)) == 120
    check(path, set(acknowledged))


def test_processes_may_all_start_on_a_missing_file(tmp_path: Path, start: Start, ended: Ended) -> None:
    path = tmp_path / "not" / "there" / "store.db"
    script = 'say("ready")\nsys.stdin.readline()\n' + WRITE.replace('say("ready")\nsys.stdin.readline()\n', "")
    writers = [start(script, path, f"writer{n}", 3) for n in range(6)]
    go(*writers)
    acknowledged = {int(line) for writer in writers for line in ended(writer)}
    assert len(acknowledged) == 18
    check(path, acknowledged)
    assert not (path.parent / "backups").exists()


def test_the_same_thing_said_by_all_at_once_is_one_item(tmp_path: Path, start: Start, ended: Ended) -> None:
    path = tmp_path / "store.db"
    script = """
store = SqliteStore(Path(sys.argv[1]))
say("ready")
sys.stdin.readline()
say(*[store.put([draft(f"walrus {n}", project="p", session="s")], NOW)[0].id for n in range(20)])
"""
    processes = [start(script, path) for _ in range(4)]
    go(*processes)
    answers = {tuple(ended(process)) for process in processes}
    assert len(answers) == 1
    check(path, {int(id_) for (line,) in answers for id_ in line.split()})


def test_writers_that_are_killed_lose_nothing_they_acknowledged(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "store.db"
    acknowledged: set[int] = set()
    for round_ in range(3):
        writers = [start(WRITE, path, f"writer{round_}-{n}", 100_000) for n in range(2)]
        go(*writers)
        for n, writer in enumerate(writers):
            assert writer.stdout
            for _ in range(7 + 5 * n + round_):
                acknowledged.add(int(writer.stdout.readline()))
        for writer in writers:
            writer.kill()
        for writer in writers:
            assert writer.stdout
            # Not by communicate(), which would pass over what was read ahead. The last line may be half a number.
            acknowledged |= {int(line) for line in writer.stdout if line.endswith("\n")}
            writer.communicate(timeout=60)
        check(path, acknowledged, forgetting=True)


def test_processes_share_the_waiting_work_without_doing_any_twice(tmp_path: Path, start: Start, ended: Ended) -> None:
    path = tmp_path / "store.db"
    script = """
import numpy as np
store = SqliteStore(Path(sys.argv[1]))
store.use_model("tiny", 8)
say("ready")
sys.stdin.readline()
while jobs := store.claim_jobs(sys.argv[2], 3, NOW, 60_000):
    done = store.finish_jobs(jobs, np.full((len(jobs), 8), 8 ** -0.5, np.float32), sys.argv[2])
    assert done == len(jobs)
    for job in jobs:
        say(job.id)
"""
    import hashlib

    from commonplace.model import Draft

    store = SqliteStore(path)
    bodies = [f"walrus {n}" for n in range(60)]
    store.put([Draft("memory", "note", "", b, hashlib.sha256(b.encode()).digest(), created_ms=1) for b in bodies], 1)
    workers = [start(script, path, f"worker{n}") for n in range(3)]
    go(*workers)
    done = [line for worker in workers for line in ended(worker)]
    assert len(done) == len(set(done)) == 60
    assert (store.counts().vectors, store.pending()) == (60, 0)
    store.close()


def test_a_backup_taken_while_others_write_is_whole(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "store.db"
    writer = start(WRITE, path, "writer", 100_000)
    go(writer)
    assert writer.stdout
    store = SqliteStore(path)
    for n in range(3):
        before = {int(writer.stdout.readline()) for _ in range(10)}
        target = tmp_path / f"copy{n}.db"
        store.backup(target)
        copy = SqliteStore(target)
        assert before <= set(copy.get(before))
        # One writer, so ids have no gap: what is there is everything up to one moment.
        everything = set(copy.get(range(1, 100_000)))
        assert everything == set(range(1, max(everything) + 1))
        copy.close()
        check(target, everything, forgetting=True)
    writer.kill()
    store.close()
    assert sorted(file.suffix for file in tmp_path.glob("copy*")) == [".db"] * 3


def test_a_backup_replaces_the_one_of_the_same_name(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    target = tmp_path / "copy.db"
    target.write_bytes(b"an older file")
    store.backup(target)
    store.close()
    copy = SqliteStore(target)
    assert copy.newest(Scope(), 1) == []
    copy.close()


@posix
def test_a_forked_child_uses_the_store_and_so_does_its_parent(tmp_path: Path, run: Run) -> None:
    script = """
store = SqliteStore(Path(sys.argv[1]))
store.put([draft("walrus before")], NOW)
pid = os.fork()
who = "child" if pid == 0 else "parent"
for n in range(30):
    store.put([draft(f"walrus {who} {n}")], NOW)
    assert found(store, f"{who} AND walrus") != []
if pid == 0:
    store.close()
    os._exit(0)
_, status = os.waitpid(pid, 0)
say(status, len(found(store, "walrus*")), len(store.newest(Scope(), 1000)))
"""
    assert run(script, tmp_path / "store.db") == ["0 61 61"]


@posix
def test_what_a_forked_child_wrote_survives_its_parent(tmp_path: Path, run: Run) -> None:
    # With an inherited connection SQLite thinks that the child holds the parent's locks: the parent then removes the
    # log at closing, and the child goes on writing to a file without a name.
    script = """
path = Path(sys.argv[1])
store = SqliteStore(path)
store.put([draft("walrus before")], NOW)
ready, set_ready = os.pipe()
closed, set_closed = os.pipe()
pid = os.fork()
if pid == 0:
    store.newest(Scope(), 1)
    os.write(set_ready, b"x")
    os.read(closed, 1)
    store.put([draft("walrus of the child")], NOW)
    os._exit(0)
os.read(ready, 1)
store.close()
other = SqliteStore(path)
other.put([draft("walrus of another")], NOW)
os.write(set_closed, b"x")
_, status = os.waitpid(pid, 0)
other.close()
again = SqliteStore(path)
say(status, sorted(item.body for item in again.newest(Scope(), 9)))
"""
    expected = "0 ['walrus before', 'walrus of another', 'walrus of the child']"
    assert run(script, tmp_path / "store.db") == [expected]


@posix
def test_a_fork_waits_for_the_transactions_of_other_threads(tmp_path: Path, run: Run) -> None:
    script = """
import threading
store = SqliteStore(Path(sys.argv[1]))
stop = threading.Event()
counter = iter(range(100_000))
written = []
def write():
    while not stop.is_set():
        written.append(store.put([draft(f"walrus {next(counter)}")], NOW)[0].id)
        store.newest(Scope(), 5)
threads = [threading.Thread(target=write) for _ in range(3)]
for thread in threads:
    thread.start()
for n in range(5):
    pid = os.fork()
    if pid == 0:
        try:
            store.put([draft(f"walrus of child {n}")], NOW)
        except BaseException as error:
            say(repr(error))
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    say(status)
stop.set()
for thread in threads:
    thread.join()
there = {item.id: item.body for item in store.newest(Scope(), 100_000)}
say(set(written) <= set(there), sum("child" in body for body in there.values()), len(there) == len(set(written)) + 5)
"""
    assert run(script, tmp_path / "store.db") == ["0"] * 5 + ["True 5 True"]


@posix
def test_a_fork_inside_a_transaction_leaves_the_parent_unharmed_and_the_child_refused(tmp_path: Path, run: Run) -> None:
    script = """
from commonplace.store.sqlite.database import Database
store = SqliteStore(Path(sys.argv[1]))
database = store._database
pids = []
class Forking:
    def __iter__(self):
        yield draft("walrus one")
        pids.append(os.fork())
        if pids[-1] == 0:
            try:
                other = store.newest(Scope(), 5)
                say("child read", len(other))
            except CommonplaceError as error:
                say("child", type(error).__name__)
            os._exit(0)
        os.waitpid(pids[-1], 0)
        yield draft("walrus two")
store.put(Forking(), NOW)
say("parent", len(found(store, "walrus*")))
"""
    assert run(script, tmp_path / "store.db") == ["child StoreError", "parent 2"]
