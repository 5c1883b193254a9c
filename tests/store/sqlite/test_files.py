"""Where the file lives: who may read it, and what happens when the place cannot be written or is full."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from commonplace.errors import StoreFull, StoreReadOnly
from commonplace.model import Draft, Scope
from commonplace.store.sqlite.file_errors import refusal
from commonplace.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from tests.store.sqlite.conftest import Run

posix = pytest.mark.skipif(os.name != "posix", reason="file modes and limits of POSIX")


def note(body: str) -> Draft:
    return Draft("memory", "note", "", body, body.encode().ljust(32)[:32], created_ms=1)


@posix
def test_only_the_owner_may_read_what_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    before = os.umask(0)
    try:
        store = SqliteStore(folder / "store.db")
        store.put([note("private")], 1)
        store.backup(folder / "copy.db")
        names = {file.name: oct(file.stat().st_mode & 0o777) for file in folder.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert set(names) == {"store.db", "store.db-wal", "store.db-shm", ".store.db.open", "copy.db"}
    assert set(names.values()) == {"0o600"}
    assert oct(folder.stat().st_mode & 0o777) == "0o700"


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("I am a file")
    for path in (tmp_path / "data" / "store.db", tmp_path / "data" / "deeper" / "store.db"):
        with pytest.raises(StoreReadOnly) as refused:
            SqliteStore(path)
        assert str(tmp_path / "data") in refused.value.message
    assert (tmp_path / "data").read_text() == "I am a file"


def test_a_folder_in_the_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()
    with pytest.raises(StoreReadOnly):
        SqliteStore(tmp_path / "store.db")


AS_NOBODY = """
from commonplace.store.sqlite.migrate import migrations
migrations()
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
def attempt(name, step):
    try:
        say(name, step())
    except CommonplaceError as error:
        say(name, type(error).__name__, error.code)
path = Path(sys.argv[1]) / "store.db"
attempt("open", lambda: SqliteStore(path))
attempt("again", lambda: SqliteStore(path))
"""


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that another user can reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


@posix
@pytest.mark.parametrize("existing", [False, True])
def test_a_folder_that_cannot_be_written_is_a_clear_error(public_folder: Path, run: Run, existing: bool) -> None:
    if existing:
        store = SqliteStore(public_folder / "store.db")
        store.put([note("kept")], 1)
        store.close()
        (public_folder / "store.db").chmod(0o444)
    before = sorted(file.name for file in public_folder.iterdir())
    public_folder.chmod(0o555)
    assert run(AS_NOBODY, public_folder) == ["open StoreReadOnly DB_READ_ONLY", "again StoreReadOnly DB_READ_ONLY"]
    assert sorted(file.name for file in public_folder.iterdir()) == before
    if existing:
        public_folder.chmod(0o755)
        (public_folder / "store.db").chmod(0o600)
        store = SqliteStore(public_folder / "store.db")
        assert [item.body for item in store.newest(Scope(), 5)] == ["kept"]
        store.close()


# Fills the place until it is refused, makes room, and tells what became of everything.
FILL = """
store = SqliteStore(Path(sys.argv[1]), durability=sys.argv[2])
kept = []
numbers = iter(range(10_000))
def fill():
    for n in numbers:
        kept.append(store.put([draft(f"walrus {n} " + "x" * 3000)], NOW)[0].id)
def refused():
    try:
        fill()
    except CommonplaceError as error:
        say(type(error).__name__, error.code)
    else:
        say("never refused")
limit()
refused()
refused()
say("searchable", found(store, "walrus*") == kept, len(kept) > 0)
lift()
kept += [s.id for s in store.put([draft("walrus after")], NOW)]
say("afterwards", found(store, "walrus*") == kept, sorted(store.get(kept)) == kept)
store.close()
again = SqliteStore(Path(sys.argv[1]))
say("reopened", found(again, "walrus*") == kept)
"""

EXPECTED = [
    "StoreFull DB_FULL",
    "StoreFull DB_FULL",
    "searchable True True",
    "afterwards True True",
    "reopened True",
]


@posix
@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_file_at_its_size_limit_loses_nothing_and_works_again_with_room(
    tmp_path: Path, run: Run, durability: str
) -> None:
    limits = """
import resource
def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
def lift():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
    path = tmp_path / "store.db"
    assert run(limits + FILL, path, durability) == EXPECTED
    assert sound(path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a small file system of its own")
def test_a_full_disk_loses_nothing_and_works_again_with_room(tmp_path: Path, run: Run) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        limits = """
def limit(): pass
def lift():
    import subprocess
    subprocess.run(["mount", "-o", "remount,size=30m", Path(sys.argv[1]).parent], check=True)
"""
        assert run(limits + FILL, disk / "store.db", "full") == EXPECTED
        assert sound(disk / "store.db")
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a small file system of its own")
def test_a_full_disk_can_be_read_though_nothing_can_be_written(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        store = SqliteStore(disk / "store.db")
        store.put([note("walrus")], 1)
        store.close()
        subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'rest'}", "bs=4k"], capture_output=True, check=False)
        store = SqliteStore(disk / "store.db")
        assert [item.body for item in store.newest(Scope(), 5)] == ["walrus"]
        with pytest.raises(StoreFull, match="is full"):
            store.put([note("seal")], 1)
        (disk / "rest").unlink()
        store.put([note("seal")], 1)
        assert [item.body for item in store.newest(Scope(), 5)] == ["seal", "walrus"]
        store.close()
        assert sound(disk / "store.db")
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a small file system of its own")
def test_a_disk_that_is_read_only_can_be_read_and_says_why_nothing_is_written(tmp_path: Path, run: Run) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        run(
            "store = SqliteStore(Path(sys.argv[1]))\nstore.put([draft('walrus')], NOW)\nstore.close()",
            disk / "store.db",
        )
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        store = SqliteStore(disk / "store.db")
        assert [item.body for item in store.newest(Scope(), 5)] == ["walrus"]
        with pytest.raises(StoreReadOnly, match="file system that is read-only"):
            store.put([note("seal")], 1)
        store.backup(tmp_path / "copy.db")
        store.close()
        assert sound(tmp_path / "copy.db")
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        store = SqliteStore(disk / "store.db")
        assert [item.body for item in store.newest(Scope(), 5)] == ["walrus"]
        store.close()
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a small file system of its own")
def test_a_copy_to_a_full_disk_names_that_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    try:
        store = SqliteStore(tmp_path / "store.db")
        store.put([note("walrus")], 1)
        with pytest.raises(StoreFull, match=str(disk / "copy.db")):
            store.backup(disk / "copy.db")
        store.close()
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("error", [apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC])
def test_a_disk_that_fails_is_not_called_full(tmp_path: Path, error: int) -> None:
    raised = apsw.exception_for(error)
    assert refusal(tmp_path / "store.db", raised).code == "DB_ERROR"
    assert refusal(tmp_path / "store.db", raised, errno.ENOSPC).code == "DB_FULL"


def sound(path: Path) -> bool:
    connection = apsw.Connection(str(path))
    try:
        connection.execute("INSERT INTO passages_fts (passages_fts, rank) VALUES ('integrity-check', 0)")
        return bool(connection.pragma("integrity_check") == "ok")
    finally:
        connection.close()
