"""A database of another product is read whole and left as it is, byte by byte, whatever state it is in."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from commonplace.capture.import_files import import_path
from commonplace.capture.importers.foreign_database import SQLITE_MAGIC, UnreadableDatabase, open_copy
from commonplace.memory.local_memory import LocalMemory

from .databases import KIRO, MEMORIES, fill, make, memory_row, observation


def listing(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}


def test_nothing_beside_or_in_a_closed_database_changes(memory: LocalMemory, tmp_path: Path) -> None:
    path = make(tmp_path / "theirs" / "local.db", MEMORIES, {"memories": [memory_row("a", "Use pnpm")]})
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "wal")
    before = listing(path.parent)
    assert before.keys() == {"local.db"}
    assert import_path(memory, path).items.added == 1
    assert listing(path.parent) == before


def test_what_stands_in_a_live_log_only_is_read_and_the_log_left_alone(memory: LocalMemory, tmp_path: Path) -> None:
    path = tmp_path / "theirs" / "local.db"
    path.parent.mkdir()
    with closing(apsw.Connection(str(path))) as writer:
        writer.pragma("journal_mode", "wal")
        writer.pragma("wal_autocheckpoint", 0)
        fill(writer, MEMORIES, {"memories": [memory_row("a", "Use pnpm")]})
        before = listing(path.parent)
        assert before.keys() == {"local.db", "local.db-shm", "local.db-wal"}
        assert import_path(memory, path).items.added == 1
        assert listing(path.parent) == before
        fill(writer, {}, {"memories": [memory_row("b", "Use vitest")]})
        again = import_path(memory, path)
        assert (again.items.added, again.items.known) == (1, 1)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_somebody_who_writes_is_not_waited_for_and_what_is_not_committed_is_not_read(
    memory: LocalMemory, tmp_path: Path, mode: str
) -> None:
    path = make(tmp_path / "theirs" / "local.db", MEMORIES, {"memories": [memory_row("a", "Use pnpm")]})
    with closing(apsw.Connection(str(path))) as writer:
        writer.pragma("journal_mode", mode)
        writer.execute("BEGIN EXCLUSIVE")
        fill(writer, {}, {"memories": [memory_row("b", "Not yet")]})
        writer.cache_flush()
        assert import_path(memory, path).items.added == 1
        # Nor was a lock taken that would keep the writer from going on.
        writer.execute("COMMIT")
    assert import_path(memory, path).items.added == 1


def test_the_text_of_a_row_that_is_no_utf8_is_kept_as_well_as_it_can_be(memory: LocalMemory, tmp_path: Path) -> None:
    path = make(tmp_path / "local.db", MEMORIES, {})
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(
            "INSERT INTO memories (id, content, type) VALUES ('a', CAST(x'416cff6c' AS TEXT), 'note'),"
            " ('b', 'After it', 'note')"
        )
    assert import_path(memory, path).items.added == 2


ENCRYPTED = hashlib.shake_256(b"anything").digest(4096)


@pytest.mark.parametrize("data", [ENCRYPTED, SQLITE_MAGIC + ENCRYPTED, SQLITE_MAGIC, b"just some words"])
def test_what_is_no_database_is_told(memory: LocalMemory, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(data)
    summary = import_path(memory, path)
    assert summary.nothing_read and "not a SQLite database, or it is encrypted" in summary.examples[0].why


def test_an_empty_file_is_told(memory: LocalMemory, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"")
    assert import_path(memory, path).examples[0].why == "it is empty"


def test_of_a_damaged_database_what_comes_before_the_damage_is_kept(memory: LocalMemory, tmp_path: Path) -> None:
    rows = [observation(n, text="x" * 3000) for n in range(1, 200)]
    path = make(tmp_path / "kiro-memory.db", KIRO, {"observations": rows})
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40_000] = b"\xee" * 40_000
    path.write_bytes(data)
    summary = import_path(memory, path)
    assert 0 < summary.items.added < 199
    assert any(unit == "file" and "damaged" in why for unit, why in summary.reasons)
    assert import_path(memory, path).items.added == 0


def test_a_database_of_somebody_else_is_named_by_its_tables(memory: LocalMemory, tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db", {"orders": "id INTEGER", "customers": "id INTEGER"}, {})
    summary = import_path(memory, path)
    assert summary.nothing_read and summary.examples[0].why.endswith("(its tables: customers, orders)")


def test_functions_and_triggers_of_theirs_do_not_run(memory: LocalMemory, tmp_path: Path) -> None:
    path = make(tmp_path / "local.db", MEMORIES, {"memories": [memory_row("a", "Use pnpm")]})
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE VIEW projects AS SELECT writefile('/tmp/never', 'x')")
    assert import_path(memory, path).items.added == 1


def test_a_file_without_permission_or_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDatabase, match="disappeared"), open_copy(tmp_path / "none.db"):
        pass
    with pytest.raises(UnreadableDatabase, match="cannot be read"), open_copy(tmp_path):
        pass
