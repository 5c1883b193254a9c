"""How a file becomes ours: created, upgraded after a backup, or refused and left alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from commonplace.errors import StoreCorrupt, StoreTooNew
from commonplace.model import Draft, Scope
from commonplace.store.sqlite.migrate import APPLICATION_ID, migrations
from commonplace.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from tests.store.sqlite.conftest import Run, Start

NEWEST = migrations()[-1][0]
NEXT = NEWEST + 1

OPEN = """
try:
    store = SqliteStore(Path(sys.argv[1]))
    say("schema", store.schema, "items", len(store.newest(Scope(), 100)))
except CommonplaceError as error:
    say(type(error).__name__)
"""


def note(body: str) -> Draft:
    return Draft("memory", "note", "", body, body.encode().ljust(32)[:32], created_ms=1)


def pragma(path: Path, name: str) -> object:
    connection = apsw.Connection(str(path))
    try:
        return connection.pragma(name)
    finally:
        connection.close()


def make(path: Path, *, application: int = 0, version: int = 0, wal: bool = False) -> bytes:
    """A SQLite file by someone else's hand, and its bytes."""
    connection = apsw.Connection(str(path))
    if wal:
        connection.pragma("journal_mode", "wal")
    connection.execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
    connection.pragma("application_id", application)
    connection.pragma("user_version", version)
    connection.close()
    return path.read_bytes()


def newer_package(tmp_path: Path, script: str) -> Path:
    """A copy of the package with one more migration, as the next version would have."""
    import commonplace

    package = Path(commonplace.__file__).parent
    target = tmp_path / "next version"
    ignored = shutil.ignore_patterns("__pycache__", "model", "*.onnx")
    shutil.copytree(package, target / "commonplace", ignore=ignored)
    folder = target / "commonplace" / "store" / "sqlite" / "migrations"
    (folder / f"{NEXT:04d}_next.sql").write_text(script, encoding="utf-8")
    return target


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store of this version with three items."""
    path = tmp_path / "data" / "store.db"
    store = SqliteStore(path)
    store.put([note(f"item {n}") for n in range(3)], 1)
    store.close()
    return path


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _, _ in migrations()] == list(range(1, NEWEST + 1))


def test_a_new_file_has_the_newest_schema_and_says_whose_it_is(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "store.db"
    store = SqliteStore(path)
    assert store.describe()["schema"] == NEWEST
    store.close()
    assert pragma(path, "user_version") == NEWEST
    assert pragma(path, "application_id") == APPLICATION_ID
    assert pragma(path, "journal_mode") == "wal"
    assert pragma(path, "integrity_check") == "ok"
    assert sorted(file.name for file in path.parent.iterdir()) == ["store.db"]


def test_opening_again_changes_nothing(filled: Path) -> None:
    before = filled.read_bytes()
    SqliteStore(filled).close()
    assert filled.read_bytes() == before
    assert sorted(file.name for file in filled.parent.iterdir()) == ["store.db"]


def test_an_upgrade_makes_a_backup_first(tmp_path: Path, filled: Path, run: Run) -> None:
    package = newer_package(tmp_path, "CREATE TABLE novelty (a); DELETE FROM history;")
    assert run(OPEN, filled, package=package) == [f"schema {NEXT} items 3"]
    assert pragma(filled, "user_version") == NEXT
    (backup,) = (filled.parent / "backups").iterdir()
    assert f"schema{NEWEST}" in backup.name and backup.suffix == ".db"
    if os.name == "posix":
        assert (backup.stat().st_mode & 0o777, backup.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert pragma(backup, "user_version") == NEWEST
    old = SqliteStore(backup)
    assert sorted(item.body for item in old.newest(Scope(), 9)) == ["item 0", "item 1", "item 2"]
    old.close()


def test_several_processes_may_upgrade_at_once(
    tmp_path: Path, filled: Path, start: Start, ended: Callable[[subprocess.Popen[str]], list[str]]
) -> None:
    package = newer_package(tmp_path, "CREATE TABLE novelty (a);")
    wait = "sys.stdin.readline()\n"
    processes = [start(wait + OPEN, filled, package=package) for _ in range(4)]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        assert ended(process) == [f"schema {NEXT} items 3"]
    backups = list((filled.parent / "backups").iterdir())
    assert backups and all(backup.suffix == ".db" for backup in backups)
    assert all(pragma(backup, "user_version") == NEWEST for backup in backups)


def test_a_migration_that_fails_leaves_the_version_before(tmp_path: Path, filled: Path, run: Run) -> None:
    package = newer_package(tmp_path, "CREATE TABLE half_done (a); INSERT INTO nowhere VALUES (1);")
    assert run(OPEN, filled, package=package) == ["StoreError"]
    assert pragma(filled, "user_version") == NEWEST
    assert run(OPEN, filled) == [f"schema {NEWEST} items 3"]
    connection = apsw.Connection(str(filled))
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half_done'").fetchall() == [(0,)]
    connection.close()


def test_a_migration_that_is_killed_leaves_the_version_before(
    tmp_path: Path, filled: Path, run: Run, start: Start
) -> None:
    endless = (
        "CREATE TABLE half_done AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT i FROM n WHERE i > 0;"
    )
    package = newer_package(tmp_path, endless)
    text = """
import apsw, commonplace.store.sqlite.migrate as migrate
apsw.connection_hooks.append(lambda connection: connection.set_progress_handler(tell, 1_000_000))
def tell():
    say("busy")
    return False
"""
    process = start(text + OPEN, filled, package=package)
    assert process.stdout and process.stdout.readline() == "busy\n"
    process.kill()
    process.wait(timeout=60)
    assert run(OPEN, filled) == [f"schema {NEWEST} items 3"]
    assert pragma(filled, "integrity_check") == "ok"


@pytest.mark.parametrize("wal", [False, True])
def test_a_file_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path, wal: bool) -> None:
    path = tmp_path / "store.db"
    before = make(path, application=APPLICATION_ID, version=NEXT, wal=wal)
    with pytest.raises(StoreTooNew) as refused:
        SqliteStore(path)
    assert str(NEXT) in refused.value.message and "store.db" in refused.value.message
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


def test_whoever_is_older_writes_no_more_once_a_newer_version_has_migrated_the_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    note = Draft("memory", "note", "", "walrus", bytes(32), created_ms=1)
    store.put([note], 1)
    newer = apsw.Connection(str(tmp_path / "store.db"))
    newer.pragma("user_version", NEXT)
    newer.close()
    with pytest.raises(StoreTooNew, match="in the meantime"):
        store.put([Draft("memory", "note", "", "seal", bytes(31) + b"s", created_ms=1)], 1)
    assert [item.body for item in store.newest(Scope(), 9)] == ["walrus"]
    store.close()


@pytest.mark.parametrize("wal", [False, True])
@pytest.mark.parametrize(("application", "version"), [(0, 0), (0, NEWEST), (0x1234, 0), (0x1234, NEWEST), (0, 99)])
def test_a_database_of_another_program_is_refused_and_not_touched(
    tmp_path: Path, application: int, version: int, wal: bool
) -> None:
    path = tmp_path / "store.db"
    before = make(path, application=application, version=version, wal=wal)
    with pytest.raises(StoreCorrupt):
        SqliteStore(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize(
    "content",
    [b"just some text, not a database\n" * 50, b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 5000, b"a short note"],
    ids=["text", "zeros", "only a header", "short"],
)
def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    store = SqliteStore(path)
    assert store.newest(Scope(), 1) == []
    store.close()


def test_a_damaged_store_says_so_and_the_process_lives(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    store.put([note(f"item number {n} " + "filling " * 50) for n in range(300)], 1)
    store.close()
    content = bytearray(path.read_bytes())
    # Everything but the first page, which holds the version.
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        SqliteStore(path).newest(Scope(), 1000)
    assert path.stat().st_size == len(content)
