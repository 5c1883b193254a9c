"""Saving a damaged file: every row that SQLite can still read is there afterwards, and else a backup is named."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from tests.conftest import Clock
from tests.damage import INVALID_UTF8, damage_row
from tests.memory.test_repair import fill, truth
from tests.raw_sql import behind

from commonplace import config
from commonplace.config import Settings
from commonplace.errors import StoreCorrupt
from commonplace.memory.backup import back_up_store, restore_backup
from commonplace.memory.check_and_repair import RepairResult, check_and_record, repair_store
from commonplace.memory.encryption import encrypt_store
from commonplace.memory.local_memory import open_memory
from commonplace.memory.remember import NewItem, remember, remember_all

PAGE = 4096
Damage = Callable[[bytearray, list[int]], bytearray]


def zeroed(data: bytearray, pages: list[int]) -> bytearray:
    for page in pages:
        data[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    return data


def header(offset: int, value: bytes) -> Damage:
    def write(data: bytearray, _schema: list[int]) -> bytearray:
        data[offset : offset + len(value)] = value
        return data

    return write


# What is done to the bytes of a file, given the pages of its schema. Nothing of it touches a row.
HARMLESS: dict[str, Damage] = {
    "one page short": lambda data, _schema: data[:-PAGE],
    "cut off in a page": lambda data, _schema: data[:-1000],
    "reserved bytes": header(20, b"\x10"),
    "version of the schema": header(60, b"\0\0\0\x0c"),
    "whose file it is": header(68, b"\0\0\0\0"),
}
# After these SQLite opens the file no more, or knows no table of it.
UNREADABLE: dict[str, Damage] = {
    "the first page zeroed": lambda data, schema: zeroed(data, schema[:1]),
    "a page of the schema zeroed": lambda data, schema: zeroed(data, schema[1:2]),
    "the whole schema zeroed": zeroed,
    "magic": header(0, b"X"),
    "page size": header(16, b"\x08\x00"),
    "version to read": header(19, b"\x03"),
    "encoding": header(56, b"\0\0\0\x02"),
}


def settings_in(folder: Path) -> Settings:
    return config.load({"data_dir": str(folder), "embedder": "off", "durability": "normal"})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A store of many items that nobody has open; its last page is one of an index."""
    settings = settings_in(tmp_path_factory.mktemp("whole"))
    memory = open_memory(settings, Clock())
    words = "Some more words. " * 10
    remember_all(
        memory, [NewItem(f"Apple {n}. {words}", project=f"Acme/P{n % 3}", tags=[f"t{n % 5}"]) for n in range(300)]
    )
    fill(memory)
    memory.close()
    return settings


@pytest.fixture
def settings(whole: Settings, tmp_path: Path) -> Settings:
    """A copy of it."""
    settings = settings_in(tmp_path)
    shutil.copy(whole.database, settings.database)
    return settings


def pages_of(path: Path, table: str) -> list[int]:
    with contextlib.closing(apsw.Connection(str(path))) as file:
        question = "SELECT pageno FROM dbstat WHERE name = ? ORDER BY pageno"
        return [int(str(row[0])) for row in file.execute(question, (table,))]


def token_vectors(settings: Settings) -> list[tuple[object, ...]]:
    with behind(settings) as ask:
        return ask("SELECT passage_id, space_id, model_id, tokens FROM token_vectors ORDER BY 1")


@pytest.mark.parametrize("how", [*HARMLESS])
def test_no_row_is_lost_where_no_row_is_damaged(whole: Settings, settings: Settings, how: str) -> None:
    data = HARMLESS[how](bytearray(settings.database.read_bytes()), pages_of(settings.database, "sqlite_schema"))
    settings.database.write_bytes(data)
    assert any(fault.part == "file" for fault in check_and_record(settings, Clock()))
    done = repair_store(settings, Clock())
    assert done.left == () and truth(settings) == truth(whole)
    assert token_vectors(settings) == token_vectors(whole)
    assert done.saved is None or (done.saved.lost == [] and done.saved.changed == [])
    assert done.old_copy is not None and (done.saved is None or done.old_copy.read_bytes() == data)


@pytest.mark.parametrize("how", [*UNREADABLE])
def test_a_file_that_sqlite_cannot_read_stays_as_it_is_and_a_backup_is_named(settings: Settings, how: str) -> None:
    memory = open_memory(settings, Clock())
    backup = back_up_store(memory)
    memory.close()
    before = truth(settings)
    data = UNREADABLE[how](bytearray(settings.database.read_bytes()), pages_of(settings.database, "sqlite_schema"))
    settings.database.write_bytes(data)
    (fault,) = (fault for fault in check_and_record(settings, Clock()) if fault.part == "file")
    assert "backup" in fault.advice
    with pytest.raises(StoreCorrupt) as error:
        repair_store(settings, Clock())
    assert "commonplace backup restore latest" in error.value.hint
    assert settings.database.read_bytes() == data
    assert [file for file in settings.data_dir.iterdir() if ".recovered" in file.name] == []
    restore_backup(settings, "latest", Clock()())
    assert backup.path.exists() and truth(settings) == before and check_and_record(settings, Clock()) == []


def test_of_a_row_that_sqlite_refuses_the_columns_are_saved_that_can_be_read(settings: Settings) -> None:
    memory = open_memory(settings, Clock())
    number = remember(memory, NewItem("About quinces. " * 2000)).id
    memory.close()
    with contextlib.closing(apsw.Connection(str(settings.database))) as file:
        question = "SELECT pageno FROM dbstat WHERE name = 'items' AND pagetype = 'overflow' ORDER BY path"
        page = [int(str(row[0])) for row in file.execute(question)][-3]
    data = bytearray(settings.database.read_bytes())
    data[(page - 1) * PAGE : (page - 1) * PAGE + 4] = b"\xff" * 4
    settings.database.write_bytes(data)
    done = repair_store(settings, Clock())
    assert done.saved is not None and done.saved.lost == []
    assert any(line.startswith(f"item {number}: body was 'nothing'") for line in done.saved.changed)
    with behind(settings) as ask:
        assert ask(f"SELECT title LIKE 'About quinces.%', project_id FROM items WHERE id = {number}") == [(1, None)]


def test_lost_rows_are_named_by_their_ids(whole: Settings, settings: Settings) -> None:
    with contextlib.closing(apsw.Connection(str(settings.database))) as file:
        question = "SELECT pageno FROM dbstat WHERE name = 'items' AND pagetype = 'leaf' ORDER BY pageno"
        leaf = int(str(file.execute(question).fetchall()[3][0]))
    settings.database.write_bytes(zeroed(bytearray(settings.database.read_bytes()), [leaf]))
    done = repair_store(settings, Clock())
    assert done.saved is not None
    stored = {row.split(",")[0].strip("(") for row in truth(settings)["items"]}
    lost = {row.split(",")[0].strip("(") for row in truth(whole)["items"]} - stored
    assert lost and sorted(done.saved.lost) == sorted(f"item {number}" for number in lost)


def repaired(settings: Settings, *damages: tuple[str, int, str, str]) -> RepairResult:
    for damage in damages:
        damage_row(settings.database, *damage)
    return repair_store(settings, Clock())


def test_an_odd_kind_becomes_the_nearest(settings: Settings) -> None:
    odd = (("items", 1, "kind", "'memosy'"), ("items", 2, "kind", "x'ff'"), ("items", 3, "title", "NULL"))
    done = repaired(settings, *odd)
    assert done.saved is not None and done.saved.lost == []
    assert "item 1: kind was 'memosy', is 'memory'" in done.saved.changed
    assert "item 3: title was 'nothing'" in done.saved.changed
    with behind(settings) as ask:
        assert ask("SELECT kind FROM items WHERE id < 4") == [("memory",), ("memory",), ("memory",)]
    assert done.left == () or {fault.derived for fault in done.left} == {False}
    assert repair_store(settings, Clock()).done == ()


def test_rows_that_clash_are_both_kept(whole: Settings, settings: Settings) -> None:
    """Two items that say the same in one project: the hash of one has become that of the other."""
    with behind(settings) as ask:
        one, other = (row[0] for row in ask("SELECT content_hash FROM items WHERE id IN (1, 4) ORDER BY id"))
    data = bytearray(settings.database.read_bytes())
    for page in pages_of(settings.database, "items"):
        start = (page - 1) * PAGE
        data[start : start + PAGE] = data[start : start + PAGE].replace(one, other)
    settings.database.write_bytes(data)
    done = repair_store(settings, Clock())
    assert done.saved is not None and done.saved.lost == []
    assert [line for line in done.saved.changed if "another row has its place" in line]
    assert len(truth(settings)["items"]) == len(truth(whole)["items"])


def test_changed_content_is_not_called_derived(settings: Settings) -> None:
    with behind(settings) as ask:
        (number,) = ask("SELECT max(id) FROM items WHERE kind = 'message'")[0]
    data = bytearray(settings.database.read_bytes())
    at = data.index(b"Why does src/app.py fail?")
    data[at] ^= 2
    settings.database.write_bytes(data)
    for _time in range(2):
        done = repair_store(settings, Clock())
        altered = [fault for fault in done.left if "does not match its checksum" in fault.says]
        assert [fault.examples for fault in altered] == [(f"item {number - 1}",)] and not altered[0].derived


def test_damaged_text_is_saved_byte_for_byte(settings: Settings) -> None:
    done = repaired(settings, ("items", 1, "body", INVALID_UTF8), ("items", 2, "kind", "'memosy'"))
    assert done.saved is not None
    with behind(settings) as ask:
        assert ask("SELECT hex(body) FROM items WHERE id = 1") == [("4170706C65FF20C328",)]
    assert any("item 1 (body)" in fault.examples for fault in done.left)


def test_an_encrypted_file_is_saved_as_far_as_it_opens(settings: Settings, tmp_path: Path) -> None:
    key = tmp_path / "key"
    locked = replace(settings, encryption="file", encryption_key_file=str(key))
    encrypt_store(locked, Clock()())
    data = bytearray(locked.database.read_bytes())
    # One page of a table in the middle: SQLite cannot tell what was in it.
    data[40 * PAGE + 100] ^= 1
    locked.database.write_bytes(data)
    done = repair_store(locked, Clock())
    assert done.saved is not None and sum(done.saved.rows.values()) > 1000
    assert not locked.database.read_bytes().startswith(b"SQLite format 3")
    assert repair_store(locked, Clock()).done == ()
