"""Several processes that link one file: every passage once, whoever is killed meanwhile."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from commonplace.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from tests.store.sqlite.conftest import Start

Ended = Callable[[subprocess.Popen[str]], list[str]]
COUNT = 400

WRITE = """
store = SqliteStore(Path(sys.argv[1]))
store.put([draft(f"note {n} of src/part{n % 40}.ts", session=f"s{n % 4}") for n in range(int(sys.argv[2]))], NOW)
"""
LINK = """
from commonplace.errors import StoreBusy
from commonplace.text.references import references
store = SqliteStore(Path(sys.argv[1]))
say("ready")
sys.stdin.readline()
done = 0
while store.count_unlinked():
    try:
        done += store.link(3, references, NOW)
    except StoreBusy:
        continue
    say(done)
say("all", done)
"""


def edges(path: Path) -> list[object]:
    connection = apsw.Connection(str(path))
    found = connection.execute("SELECT src, rel, dst, weight FROM edges ORDER BY 1, 2, 3").fetchall()
    connection.close()
    return list(found)


def linked_alone(start: Start, ended: Ended, path: Path) -> list[object]:
    ended(start(WRITE, path, COUNT))
    process = start(LINK, path)
    go(process)
    assert ended(process)[-1] == f"all {COUNT}"
    return edges(path)


def go(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n", process.communicate()
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()


def test_processes_that_link_at_once_share_the_work(start: Start, ended: Ended, tmp_path: Path) -> None:
    expected = linked_alone(start, ended, tmp_path / "alone.db")
    path = tmp_path / "shared.db"
    ended(start(WRITE, path, COUNT))
    processes = [start(LINK, path) for _ in range(3)]
    go(*processes)
    done = [int(ended(process)[-1].removeprefix("all ")) for process in processes]
    assert sum(done) == COUNT
    assert edges(path) == expected


def test_who_is_killed_while_linking_loses_and_doubles_nothing(start: Start, ended: Ended, tmp_path: Path) -> None:
    expected = linked_alone(start, ended, tmp_path / "alone.db")
    path = tmp_path / "killed.db"
    ended(start(WRITE, path, COUNT))
    for steps in (1, 4, 9):
        process = start(LINK, path)
        go(process)
        for _ in range(steps):
            assert process.stdout and process.stdout.readline()
        process.kill()
        process.wait(60)
    store = SqliteStore(path)
    left = store.count_unlinked()
    store.close()
    assert 0 < left < COUNT
    process = start(LINK, path)
    go(process)
    assert ended(process)[-1] == f"all {left}"
    assert edges(path) == expected
