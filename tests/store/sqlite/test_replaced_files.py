"""The files of an open store are replaced, removed, moved or overwritten: no write is acknowledged and then lost."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.polling import until
from tests.store.sqlite.conftest import Start

from commonplace.errors import StoreBusy, StoreError, StoreMissing, StoreReplaced
from commonplace.model import Draft, Scope
from commonplace.store.sqlite import database
from commonplace.store.sqlite.connection import SqliteConnection
from commonplace.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")

WRITER = """
store = SqliteStore(Path(sys.argv[1]))
say("open")
for number, line in enumerate(sys.stdin):
    try:
        if line.strip() == "read":
            say(len(store.newest(Scope(), 1000)))
        else:
            store.put([draft(line.strip())], NOW)
            say("kept")
    except CommonplaceError as error:
        say(error.code)
store.close()
"""


PAGE = 4096
Step = Callable[[], object]


def nothing() -> None:
    """Most steps do it."""


def note(body: str) -> Draft:
    return Draft("memory", "note", "", body, hashlib.sha256(body.encode()).digest(), created_ms=1)


def bodies(store: SqliteStore) -> set[str]:
    return {item.body for item in store.newest(Scope(), 1000)}


def put(store: SqliteStore, *texts: str) -> None:
    store.put([note(text) for text in texts], 1)


def sound(path: Path) -> bool:
    with contextlib.closing(apsw.Connection(str(path))) as connection, contextlib.suppress(apsw.CorruptError):
        return bool(connection.pragma("integrity_check") == "ok")
    return False


def remove_all(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def remove_logs(path: Path) -> None:
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, busy_timeout=60)
    put(opened, "first")
    yield opened
    opened.close()


@pytest.fixture
def copy(store: SqliteStore, tmp_path: Path) -> Path:
    """A sound store that holds "first" only."""
    made = tmp_path / "copy.db"
    store.backup(made)
    return made


def is_used(store: SqliteStore) -> bool:
    """Whether the file is used again: one that was just overwritten has to lie still for a moment first."""
    try:
        store.counts()
    except (StoreReplaced, StoreBusy):
        return False
    return True


def replaced_copies(path: Path) -> list[Path]:
    return sorted((path.parent / "backups").glob("*-replaced-*.db"))


def test_a_file_that_is_renamed_over_the_store_is_used_at_once(store: SqliteStore, copy: Path, path: Path) -> None:
    put(store, "second")
    copy.replace(path)
    assert bodies(store) == {"first"}
    put(store, "third")
    store.close()
    assert sound(path)
    with contextlib.closing(SqliteStore(path)) as later:
        assert bodies(later) == {"first", "third"}


def test_what_the_replaced_file_held_is_kept_among_the_backups(store: SqliteStore, copy: Path, path: Path) -> None:
    put(store, "second")
    copy.replace(path)
    put(store, "third")
    (stored,) = replaced_copies(path)
    assert oct(stored.stat().st_mode & 0o777) == "0o600"
    with contextlib.closing(SqliteStore(stored)) as before:
        assert bodies(before) == {"first", "second"}


def test_a_removed_store_is_refused_and_not_made_anew(store: SqliteStore, path: Path) -> None:
    put(store, "second")
    remove_all(path)
    for _ in range(2):
        with pytest.raises(StoreMissing) as error:
            put(store, "third")
        assert error.value.http_status == 503 and "backups" in error.value.message + error.value.hint
        with pytest.raises(StoreMissing):
            bodies(store)
        assert not path.exists()
    (stored,) = replaced_copies(path)
    stored.rename(path)
    put(store, "fourth")
    assert bodies(store) == {"first", "second", "fourth"}


def test_a_removed_log_is_folded_in_and_nothing_is_lost(store: SqliteStore, path: Path) -> None:
    for number in range(20):
        put(store, f"number {number}")
    remove_logs(path)
    put(store, "after")
    with contextlib.closing(SqliteStore(path)) as other:
        assert len(bodies(other)) == 22
    store.close()
    assert sound(path)


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_one_of_the_two_files_of_the_log_is_removed(store: SqliteStore, path: Path, end: str) -> None:
    put(store, "second")
    path.with_name(path.name + end).unlink()
    put(store, "third")
    with contextlib.closing(SqliteStore(path)) as other:
        assert bodies(other) == {"first", "second", "third"}
        put(other, "fourth")
    assert "fourth" in bodies(store)


def test_a_folder_that_is_moved_away_and_back(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    put(store, "second")
    elsewhere = tmp_path / "elsewhere"
    path.parent.rename(elsewhere)
    with pytest.raises(StoreMissing):
        put(store, "lost?")
    assert not path.parent.exists()
    with contextlib.closing(SqliteStore(elsewhere / path.name)) as moved:
        put(moved, "written there")
    elsewhere.rename(path.parent)
    put(store, "third")
    assert bodies(store) == {"first", "second", "written there", "third"}


def test_a_copy_over_the_file_in_place_is_noticed_and_used(store: SqliteStore, copy: Path, path: Path) -> None:
    for number in range(300):
        put(store, f"number {number} " + "x" * 3000)
    shutil.copyfile(copy, path)
    with pytest.raises(StoreReplaced):
        put(store, "too early")
    until(lambda: is_used(store))
    assert bodies(store) == {"first"}
    put(store, "after")
    store.close()
    assert sound(path)
    with contextlib.closing(SqliteStore(path)) as later:
        assert bodies(later) == {"first", "after"}


def test_a_copy_of_the_same_content_in_place_loses_nothing(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    put(store, "second")
    shutil.copyfile(path, tmp_path / "same")
    shutil.copyfile(tmp_path / "same", path)
    until(lambda: is_used(store))
    put(store, "third")
    assert bodies(store) == {"first", "second", "third"}
    store.close()
    assert sound(path)


def overwrite(path: Path, copy: Path) -> None:
    """In a process of its own: whoever closes the file loses the locks that it has on it."""
    subprocess.run(["cp", copy, path], check=True)


def put_until_folded(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, before: Step = nothing, after: Step = nothing
) -> set[str]:
    """Write until the log is folded in, with something done just before and just after its pages are written."""
    execute, done, stored = SqliteConnection.execute, threading.Event(), set[str]()

    def folded(self: SqliteConnection, statement: str, *arguments: Any, **options: Any) -> apsw.Cursor:
        if done.is_set() or statement != "PRAGMA wal_checkpoint(PASSIVE)":
            return execute(self, statement, *arguments, **options)
        done.set()
        before()
        cursor = execute(self, statement)
        after()
        return cursor

    with monkeypatch.context() as patch:
        patch.setattr(SqliteConnection, "execute", folded)
        while not done.is_set():
            text = f"{secrets.token_hex(4)} " + "x" * 3000
            put(store, text)
            stored.add(text)
    return stored


def open_writer(start: Start, path: Path) -> tuple[subprocess.Popen[str], Callable[[str], str]]:
    """Another process that has the store open, and how to send it a line and read its reply."""
    writer = start(WRITER, path)
    assert writer.stdin and writer.stdout and writer.stdout.readline() == "open\n"

    def ask(line: str) -> str:
        assert writer.stdin and writer.stdout
        writer.stdin.write(f"{line}\n")
        writer.stdin.flush()
        return writer.stdout.readline().strip()

    return writer, ask


@pytest.fixture
def other(path: Path, store: SqliteStore, start: Start) -> Iterator[Callable[[str], str]]:
    """Another process that has the store open: it writes a line, or tells how many there are."""
    writer, ask = open_writer(start, path)
    assert ask("read") == "1"
    yield ask
    writer.communicate(timeout=60)


def test_a_copy_over_the_file_just_after_the_log_was_folded_in_is_noticed(
    store: SqliteStore, copy: Path, path: Path, other: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_until_folded(store, monkeypatch, after=lambda: overwrite(path, copy))
    with pytest.raises(StoreReplaced):
        put(store, "too early")
    until(lambda: is_used(store))
    assert bodies(store) == {"first"}
    put(store, "second")
    assert other("third") == "kept" and other("read") == "3"
    assert bodies(store) == {"first", "second", "third"}
    store.close()
    assert sound(path)


def test_a_copy_over_the_file_while_the_log_is_folded_in_loses_nothing(
    store: SqliteStore, copy: Path, path: Path, other: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = copy.with_name("mixed")

    def overwritten_in_part() -> None:
        """As if every other page of the log was written after the copy had passed it."""
        overwrite(mixed, path)
        with mixed.open("r+b") as file:
            for start in range(0, copy.stat().st_size, 2 * PAGE):
                file.seek(start)
                file.write(copy.read_bytes()[start : start + PAGE])
        overwrite(path, mixed)

    stored = put_until_folded(store, monkeypatch, after=overwritten_in_part)
    assert not sound(mixed)
    until(lambda: is_used(store))
    assert bodies(store) == {"first", *stored}
    assert other("after") == "kept" and other("read") == str(len(stored) + 2)
    store.close()
    assert sound(path)


def test_an_old_copy_that_the_log_is_folded_into_is_refused_until_it_is_copied_again(
    store: SqliteStore, copy: Path, path: Path, other: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_until_folded(store, monkeypatch)
    put_until_folded(store, monkeypatch, before=lambda: overwrite(path, copy))
    for _ in range(2):
        with pytest.raises(StoreReplaced):
            put(store, "refused")
        assert other("refused") == "DB_REPLACED"
    overwrite(path, copy)
    until(lambda: is_used(store))
    put(store, "second")
    assert bodies(store) == {"first", "second"} and other("read") == "2"
    store.close()
    assert sound(path)


def test_a_log_that_sqlite_removes_from_an_emptied_file_is_not_folded_into_the_copy(
    store: SqliteStore, copy: Path, path: Path, other: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put_until_folded(store, monkeypatch)
    put(store, "second")
    os.truncate(path, 0)
    look = "import apsw, sys; apsw.Connection(sys.argv[1]).pragma('user_version')"
    subprocess.run([sys.executable, "-c", look, path], check=True)
    assert not path.with_name(f"{path.name}-wal").exists()
    overwrite(path, copy)
    # Neither can begin another log before both have closed what they had open.
    until(lambda: (other("read"), is_used(store)) == ("1", True))
    put(store, "third")
    assert bodies(store) == {"first", "third"} and other("read") == "2"
    store.close()
    assert sound(path)


def test_the_last_process_leaves_the_log_if_the_file_is_overwritten_while_it_closes(
    store: SqliteStore, copy: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "second")
    execute = SqliteConnection.execute

    def overwritten(self: SqliteConnection, statement: str, *arguments: Any, **options: Any) -> apsw.Cursor:
        cursor = execute(self, statement, *arguments, **options)
        if statement == "PRAGMA wal_checkpoint(PASSIVE)":
            overwrite(path, copy)
        return cursor

    monkeypatch.setattr(SqliteConnection, "execute", overwritten)
    store.close()
    monkeypatch.undo()
    with contextlib.closing(SqliteStore(path)) as later:
        until(lambda: is_used(later))
        assert bodies(later) == {"first", "second"}
    assert sound(path)


@pytest.mark.parametrize("share", [0, 0.5])
def test_a_truncated_file_is_refused_until_a_sound_one_is_there(
    store: SqliteStore, copy: Path, path: Path, share: float
) -> None:
    for number in range(300):
        put(store, f"number {number} " + "x" * 3000)
    os.truncate(path, int(path.stat().st_size * share) // 4096 * 4096)
    for _ in range(2):
        with pytest.raises((StoreReplaced, StoreMissing)):
            put(store, "refused")
        with pytest.raises((StoreReplaced, StoreMissing)):
            bodies(store)
    copy.replace(path)
    put(store, "after")
    assert bodies(store) == {"first", "after"}


def test_a_file_of_another_program_is_refused_and_not_touched(store: SqliteStore, path: Path, copy: Path) -> None:
    other = path.parent / "other"
    other.write_bytes(b"just some text\n" * 1000)
    before = other.read_bytes()
    other.replace(path)
    with pytest.raises(StoreError):
        put(store, "refused")
    assert path.read_bytes() == before
    copy.replace(path)
    put(store, "after")
    assert bodies(store) == {"first", "after"}


def test_a_swap_while_a_write_is_under_way_is_not_acknowledged(
    store: SqliteStore, copy: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replaced_meanwhile() -> None:
        with store._database.write() as connection:
            connection.execute("UPDATE items SET body = 'changed'")
            copy.replace(path)

    with pytest.raises(StoreReplaced, match="being written") as error:
        replaced_meanwhile()
    assert "write it again" in error.value.hint
    assert bodies(store) == {"first"}
    # Between the look at the start of a transaction and its lock.
    monkeypatch.setattr(database.Database, "_enter", lambda _self: None)
    shutil.copyfile(path, path.with_name("again"))
    path.with_name("again").replace(path)
    with pytest.raises(StoreReplaced, match="in use"):
        put(store, "second")
    monkeypatch.undo()
    assert bodies(store) == {"first"}


def test_the_log_of_a_killed_process_is_not_used_for_another_file(path: Path, start: Start, tmp_path: Path) -> None:
    with contextlib.closing(SqliteStore(path)) as store:
        put(store, "first")
    shutil.copyfile(path, tmp_path / "copy.db")
    writer = start(WRITER, path)
    assert writer.stdin and writer.stdout and writer.stdout.readline() == "open\n"
    for number in range(50):
        writer.stdin.write(f"number {number}\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "kept\n"
    writer.kill()
    writer.communicate()
    (tmp_path / "copy.db").replace(path)
    with contextlib.closing(SqliteStore(path)) as later:
        assert bodies(later) == {"first"}
        put(later, "after")
    assert sound(path)
    assert list((path.parent / "backups").glob("*-log-*.db-wal"))


def test_two_processes_go_on_together_after_every_kind_of_swap(
    path: Path, store: SqliteStore, copy: Path, start: Start
) -> None:
    writer, ask = open_writer(start, path)
    assert ask("second") == "kept"
    remove_logs(path)
    # Whoever comes first folds the log in; the other one goes on with the new one.
    assert ask("third") == "kept"
    put(store, "fourth")
    assert ask("fifth") == "kept"
    assert bodies(store) == {"first", "second", "third", "fourth", "fifth"} and ask("read") == "5"
    shutil.copyfile(copy, path.with_name("again"))
    path.with_name("again").replace(path)
    put(store, "sixth")
    assert ask("seventh") == "kept"
    assert bodies(store) == {"first", "sixth", "seventh"} and ask("read") == "3"
    # The same content in place: the log still fits, and is used.
    shutil.copyfile(copy, path)
    until(lambda: ask("eighth") == "kept")
    put(store, "ninth")
    assert bodies(store) == {"first", "sixth", "seventh", "eighth", "ninth"} and ask("read") == "5"
    remove_all(path)
    assert ask("tenth") == "DB_MISSING"
    with pytest.raises(StoreMissing):
        put(store, "eleventh")
    copy.replace(path)
    put(store, "twelfth")
    assert ask("read") == "2"
    writer.communicate(timeout=60)
    assert writer.returncode == 0
    store.close()
    assert sound(path)
    assert [file.name for file in path.parent.iterdir() if file.is_file()] == ["store.db"]


def test_the_vectors_kept_in_memory_are_of_the_file_that_is_there(store: SqliteStore, copy: Path, path: Path) -> None:
    import numpy as np

    store.use_model("test", 8)
    put(store, "second")
    jobs = store.claim_jobs("me", 10, 1, 1000)
    store.finish_jobs(jobs, np.eye(8, dtype=np.float32)[: len(jobs)], "me")
    question = np.ones(8, np.float32) / np.float32(8**0.5)
    assert len(store.search_vectors(question, Scope(), 5)) == len(jobs) == 2
    copy.replace(path)
    assert store.search_vectors(question, Scope(), 5) == []
    jobs = store.claim_jobs("me", 10, 1, 1000)
    store.finish_jobs(jobs, np.eye(8, dtype=np.float32)[: len(jobs)], "me")
    assert len(store.search_vectors(question, Scope(), 5)) == len(jobs) == 1
