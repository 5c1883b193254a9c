"""Processes that write to one file take turns: none is kept out by another that writes without a pause."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commonplace.model import Draft
from commonplace.store.sqlite import write_queue
from commonplace.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from tests.store.sqlite.conftest import Start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes wait in line with locks of POSIX")

NOW = 1_742_049_000_000

# Each transaction takes a good part of a second, and the next one begins right after it.
WRITES_WITHOUT_A_PAUSE = """
store = SqliteStore(Path(sys.argv[1]))
count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT count(*) FROM n"
while True:
    with store._database.write() as connection:
        say("writes")
        connection.execute(count).fetchall()
"""
IS_NEXT_AND_STOPS = """
import time
from commonplace.store.sqlite.write_queue import next_in_line
store = SqliteStore(Path(sys.argv[1]))
with next_in_line(store._database._watch.held, time.monotonic() + 60):
    say("next")
    sys.stdin.readline()
"""


def put(store: SqliteStore, body: str) -> int:
    draft = Draft("memory", "note", "", body, hashlib.sha256(body.encode()).digest(), created_ms=NOW)
    return store.put([draft], NOW)[0].id


def test_a_writer_gets_its_turn_beside_one_that_never_pauses(tmp_path: Path, start: Start) -> None:
    store = SqliteStore(tmp_path / "store.db", busy_timeout=60)
    other = start(WRITES_WITHOUT_A_PAUSE, tmp_path / "store.db")
    assert other.stdout and other.stdout.readline() == "writes\n"
    # Without turns it seldom finds the gap between two transactions of the other.
    assert put(store, "walrus")
    # The other one goes on, too.
    assert other.stdout.readline() == "writes\n"
    other.kill()
    assert other.stdout.read().count("writes") < 20, "it had to wait for many others"
    store.close()


def test_a_process_that_stopped_when_it_was_next_keeps_nobody_out(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "LONGEST_IN_LINE", 0.1)
    store = SqliteStore(tmp_path / "store.db")
    other = start(IS_NEXT_AND_STOPS, tmp_path / "store.db")
    assert other.stdout and other.stdout.readline() == "next\n"
    assert put(store, "walrus")
    store.close()
