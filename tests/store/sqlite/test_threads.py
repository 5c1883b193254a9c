"""One process, many threads: each has its own connection, and gives it back; a deadline ends a long query."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from commonplace.errors import StoreBusy, TimedOut
from commonplace.model import Draft, Scope
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.store.sqlite.connection import Connections, SqliteConnection
from commonplace.store.sqlite.store import SqliteStore
from commonplace.text.query import parse_query


def note(body: str) -> Draft:
    return Draft("memory", "note", "", body, hashlib.sha256(body.encode()).digest(), created_ms=1)


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def in_thread(work: Callable[[], object]) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(timeout=60)


def test_threads_write_and_read_at_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")

    def work(who: int) -> list[int]:
        ids = []
        for n in range(15):
            ids.append(store.put([note(f"walrus {who} {n}")], 1)[0].id)
            assert store.search_text(parse_query(f"walrus AND {who}", QUERY_COLUMNS), Scope(), 50).hits
        return ids

    with ThreadPoolExecutor(4) as pool:
        ids = [id_ for batch in pool.map(work, range(4)) for id_ in batch]
    assert len(set(ids)) == 60
    assert {item.id for item in store.newest(Scope(), 100)} == set(ids)
    store.close()


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="counts open files")
def test_threads_that_ended_leave_no_open_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    in_thread(store.counts)
    before = open_files()
    for _ in range(30):
        in_thread(lambda: store.newest(Scope(), 1))
    assert open_files() < before + 10
    store.close()


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="counts open files")
def test_closing_closes_the_connections_of_every_thread(tmp_path: Path) -> None:
    before = open_files()
    store = SqliteStore(tmp_path / "store.db")
    met = threading.Barrier(4)

    def read() -> None:
        store.newest(Scope(), 1)
        met.wait(60)
        met.wait(60)

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        met.wait(60)
        store.close()
        assert open_files() == before
        met.wait(60)
        for reader in readers:
            reader.result(timeout=60)
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"], "the last to close folds the log into the file"


def test_a_query_that_takes_too_long_is_interrupted_and_the_store_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    store.put([note(f"walrus number {n}") for n in range(2000)], 1)
    hurried = SqliteStore(path, query_timeout=1e-9)
    with pytest.raises(TimedOut):
        hurried.newest(Scope(), 2000)
    with pytest.raises(TimedOut):
        hurried.search_text(parse_query("walrus OR number", QUERY_COLUMNS), Scope(), 500)
    # Reading by id has no deadline, and the connection is as good as before.
    assert len(hurried.get(range(1, 2001))) == 2000
    hurried.put([note("still writes")], 1)
    assert len(store.newest(Scope(), 5000)) == 2001
    hurried.close()
    store.close()


def test_a_file_locked_for_longer_than_the_busy_timeout_is_an_error_not_a_hang(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path, busy_timeout=0.05)
    (stored,) = store.put([note("before")], 1)
    stuck = apsw.Connection(str(path))
    stuck.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        store.put([note("during")], 1)
    assert [item.id for item in store.newest(Scope(), 5)] == [stored.id], "reading goes on"
    stuck.execute("ROLLBACK")
    stuck.close()
    assert store.put([note("during")], 1)[0].duplicate is False
    store.close()


def test_a_write_waits_for_the_lock_of_another(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path, busy_timeout=60)
    stuck = apsw.Connection(str(path))
    stuck.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: store.put([note("patient")], 1))
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        stuck.execute("ROLLBACK")
        assert waiting.result(timeout=60)[0].duplicate is False
    stuck.close()
    store.close()


def test_an_error_inside_a_transaction_leaves_the_connection_usable(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")

    class Failing(list[Draft]):
        def __iter__(self) -> Iterator[Draft]:
            yield note("half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        store.put(Failing(), 1)
    assert store.newest(Scope(), 5) == []
    assert store.put([note("half")], 1)[0].duplicate is False
    store.close()


def test_a_connection_that_another_thread_uses_is_left_alone() -> None:
    connections, started, go_on = Connections(), threading.Event(), threading.Event()

    def wait(*_arguments: object) -> int:
        started.set()
        return int(go_on.wait(60))

    def use() -> None:
        connection = SqliteConnection(":memory:")
        connections.keep(connection)
        connection.create_scalar_function("wait", wait)
        connection.execute("SELECT wait()").fetchall()

    user = threading.Thread(target=use)
    user.start()
    try:
        assert started.wait(60)
        assert connections.any() is None
        connections.keep(mine := SqliteConnection(":memory:"))
        assert connections.any() is mine
    finally:
        go_on.set()
        user.join(60)
        connections.close(fold=False)
