"""Check and repair: whatever is done to what is derived is found and made anew, and what was said stays as it was."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as given_settings
from hypothesis import strategies as st
from tests.conftest import Clock
from tests.raw_sql import behind

from commonplace import config
from commonplace.config import Settings
from commonplace.errors import StoreBusy, StoreCorrupt
from commonplace.memory.background_tasks import BackgroundWorker
from commonplace.memory.check_and_repair import check_and_record, check_newest, check_store, repair_store
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.model import Scope

# What people and agents said, and what is made of it. `rev` of a message that grows and the like is truth too.
TRUTH = {
    "items": "id, uid, space_id, project_id, session_id, kind, type, title, body, details, meta, importance, status,"
    " content_hash, created_ms, updated_ms, forgotten_ms, superseded_by, rev",
    "item_tags": "*",
    "history": "*",
    "session_history": "*",
    "projects": "*",
    "project_aliases": "*",
    "sessions": "id, uid, key, project_id, label, folder, status, importance, meta, started_ms, ended_ms, rev",
    "streams": "*",
    "stream_parts": "*",
    "keys": "*",
}
DAMAGE = (
    "DELETE FROM {words} WHERE {row} % {a} = {b}",
    "UPDATE vectors SET v = substr(v, 2) WHERE passage_id % {a} = {b}",
    "UPDATE vectors SET scale = -1 WHERE passage_id % {a} = {b}",
    "UPDATE vectors SET project_id = 99 WHERE passage_id % {a} = {b}",
    "DELETE FROM vectors WHERE passage_id % {a} = {b}",
    "UPDATE token_vectors SET passage_id = passage_id + 1000 WHERE passage_id % {a} = {b}",
    "DELETE FROM token_vectors WHERE passage_id % {a} = {b}",
    "UPDATE token_vectors SET model_id = 99 WHERE passage_id % {a} = {b}",
    "DELETE FROM jobs WHERE passage_id % {a} = {b}",
    "UPDATE jobs SET passage_id = passage_id + 1000 WHERE passage_id % {a} = {b}",
    "UPDATE items SET tagged = NOT tagged WHERE id % {a} = {b}",
    "UPDATE tally SET items = items + {a}",
    "DELETE FROM tally WHERE items % 2 = {b} % 2",
    "UPDATE sessions SET messages = messages + {b} + 1, words = 0, bytes = 7",
    "UPDATE edges SET dst = dst + 1000 WHERE src % {a} = {b}",
    "INSERT OR IGNORE INTO mentions (space_id, thing, passage_id) VALUES (1, {a}, 5000 + {b})",
    "UPDATE clusters SET size = size + {b} + 1",
    "DELETE FROM passages WHERE id % {a} = {b}",
    "INSERT OR IGNORE INTO passages (space_id, item_id, seq) VALUES (1, 7000 + {a}, {b})",
    "UPDATE space_use SET items = {a}, bytes = {b}",
)


def fill(memory: LocalMemory) -> None:
    """Something of everything, embedded, linked and grouped."""
    remember_all(memory, [NewItem(f"Apple {n} of src/app.py", project=f"p{n % 3}", tags=["fruit"]) for n in range(12)])
    remember(
        memory, NewItem("\n\n".join(f"Part {n}: " + "about pears and plums. " * 20 for n in range(8)), project="p1")
    )
    messages = [NewMessage("user", "Why does src/app.py fail?"), NewMessage("assistant", "It reads pears. " * 200)]
    store_conversation(memory, NewConversation("Pears", messages))
    forget_items(memory, [remember(memory, NewItem("Cherry that was forgotten")).id])
    embed(memory)
    work = BackgroundWorker(memory)
    while work.step():
        pass


def embed(memory: LocalMemory) -> None:
    """A vector and token vectors for everything that waits, made of nothing but its number."""
    memory.maintenance.use_model("tiny", 8)
    while jobs := memory.maintenance.claim_jobs("me", 100, memory.clock(), 60_000):
        vectors = np.array([np.roll(np.arange(1, 9), job.passage.id) for job in jobs], np.float32)
        tokens = [f"of passage {job.passage.id}".encode() for job in jobs]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        memory.maintenance.finish_jobs(jobs, vectors / lengths, "me", None, tokens)


def truth(settings: Settings) -> dict[str, list[str]]:
    with behind(settings) as ask:
        return {table: sorted(map(str, ask(f"SELECT {rows} FROM {table}"))) for table, rows in TRUTH.items()}


@pytest.fixture
def filled(memory: LocalMemory) -> LocalMemory:
    fill(memory)
    return memory


def test_a_store_that_is_well_is_found_to_be(filled: LocalMemory) -> None:
    assert check_store(filled) == [] and check_store(filled, quick=True) == [] and check_newest(filled) == []
    before = truth(filled.settings)
    done = repair_store(filled.settings, filled.clock)
    assert (done.found, done.left, done.done, done.old_copy) == ((), (), (), None)
    assert truth(filled.settings) == before and not filled.settings.backups.exists()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with something of everything, and nobody who has it open."""
    folder = tmp_path_factory.mktemp("sound")
    memory = open_memory(config.load({"data_dir": str(folder), "embedder": "off", "durability": "normal"}), Clock())
    fill(memory)
    memory.close()
    return memory.settings.database


@given_settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(DAMAGE), st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=4))
def test_whatever_is_derived_is_made_anew(
    sound: Path, tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("hurt")
    own_settings = config.load({"data_dir": str(folder), "embedder": "off", "durability": "normal"})
    shutil.copy(sound, own_settings.database)
    before = truth(own_settings)
    with behind(own_settings) as ask:
        for statement, a, b in damages:
            # The words of rows, or only the list of them.
            words, row = ("passages_fts", "rowid") if b % 2 else ("passages_fts_docsize", "id")
            ask(statement.format(a=a, b=b, words=words, row=row))
    done = repair_store(own_settings, Clock())
    assert done.left == (), damages
    assert truth(own_settings) == before
    memory = open_memory(own_settings, Clock())
    try:
        embed(memory)
        assert check_store(memory) == []
        assert len(recall(memory, "apple", Scope(), 20).hits) == 12
        assert not recall(memory, "cherry", Scope(), 20).hits
    finally:
        memory.close()
    shutil.rmtree(folder)


def hurt_pages(path: Path, table: str, most: int) -> int:
    """Write nonsense over pages of a table; how many."""
    with contextlib.closing(apsw.Connection(str(path))) as file:
        question = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
        pages = [row[0] for row in file.execute(question, (table,))][1 : 1 + most]
    with path.open("r+b") as raw:
        for page in pages:
            raw.seek((page - 1) * 4096)
            raw.write(bytes(range(256)) * 16)
    return len(pages)


@pytest.fixture
def closed(tmp_path: Path) -> Settings:
    """A store of many items that nobody has open."""
    own_settings = config.load({"data_dir": str(tmp_path / "data"), "embedder": "off", "durability": "normal"})
    memory = open_memory(own_settings, Clock())
    remember_all(memory, [NewItem(f"Apple {n}. " + "Some more words. " * 10, project=f"p{n % 3}") for n in range(300)])
    fill(memory)
    memory.close()
    return own_settings


def test_all_that_can_be_read_of_damaged_pages_is_saved(closed: Settings) -> None:
    before = truth(closed)
    assert hurt_pages(closed.database, "items", 3) == 3
    assert any(fault.part == "file" and not fault.derived for fault in check_and_record(closed, Clock()))
    done = repair_store(closed, Clock())
    assert done.saved is not None and len(done.saved.lost) == len(before["items"]) - len(truth(closed)["items"])
    assert all(lost.startswith("item ") for lost in done.saved.lost)
    after = truth(closed)
    assert set(after["items"]) < set(before["items"]) and len(after["items"]) > len(before["items"]) - 60
    assert {table: rows for table, rows in after.items() if table not in ("items", "item_tags")} == {
        table: rows for table, rows in before.items() if table not in ("items", "item_tags")
    }
    # What is left says only that some rows are no more.
    assert {fault.part for fault in done.left} <= {"rows", "history"} and not any(fault.derived for fault in done.left)
    assert done.old_copy is not None and done.old_copy.parent == closed.backups and "damaged" in done.old_copy.name
    again = repair_store(closed, Clock())
    assert again.saved is None and again.done == () and again.left == done.left


def test_token_vectors_of_damaged_pages_are_made_again(closed: Settings) -> None:
    count = "SELECT count(*) FROM token_vectors"
    with behind(closed) as ask:
        before, said = ask(count), truth(closed)
    assert hurt_pages(closed.database, "token_vectors", 1) == 1
    assert repair_store(closed, Clock()).left == ()
    with behind(closed) as ask:
        assert ask(count) < before
    memory = open_memory(closed, Clock())
    embed(memory)
    assert check_store(memory) == []
    memory.close()
    with behind(closed) as ask:
        assert ask(count) == before and truth(closed) == said


def test_numbers_of_lost_items_are_not_given_again(closed: Settings) -> None:
    hurt_pages(closed.database, "items", 10_000)
    ((last,),) = _numbers(closed)
    repair_store(closed, Clock())
    memory = open_memory(closed, Clock())
    assert remember(memory, NewItem("Something new")).id == last + 1
    memory.close()


def _numbers(settings: Settings) -> list[tuple[int]]:
    with behind(settings) as ask:
        return ask("SELECT seq FROM sqlite_sequence WHERE name = 'items'")


def test_a_damaged_index_is_made_anew_from_its_table(closed: Settings) -> None:
    before = truth(closed)
    hurt_pages(closed.database, "items_time", 1)
    done = repair_store(closed, Clock())
    assert done.left == () and truth(closed) == before


def test_a_damaged_index_of_words_is_made_anew(closed: Settings) -> None:
    before = truth(closed)
    with behind(closed) as ask:
        ask("UPDATE passages_fts_data SET block = x'00ff00ff' WHERE id > 10")
    done = repair_store(closed, Clock())
    assert done.found and done.saved is None and done.left == () and truth(closed) == before
    memory = open_memory(closed, Clock())
    assert recall(memory, "pears", Scope(), 5).hits
    memory.close()


def test_what_is_no_store_at_all_is_left_alone(closed: Settings) -> None:
    nonsense = b"These are not the pages you are looking for. " * 100
    closed.database.write_bytes(nonsense)
    assert [fault.part for fault in check_and_record(closed, Clock())] == ["file"]
    with pytest.raises(StoreCorrupt):
        repair_store(closed, Clock())
    assert closed.database.read_bytes() == nonsense


def test_pages_are_not_saved_under_the_feet_of_another_process(closed: Settings) -> None:
    hurt_pages(closed.database, "items", 2)
    with behind(closed, reading=True) as ask:
        ask("SELECT count(*) FROM projects")
        with pytest.raises(StoreBusy):
            repair_store(replace(closed, busy_timeout=0.1), Clock())
    assert not [*closed.backups.glob("*damaged*")]


def test_a_dry_run_changes_nothing(closed: Settings) -> None:
    with behind(closed) as ask:
        ask("UPDATE tally SET items = 0")
    done = repair_store(closed, Clock(), dry_run=True)
    assert done.found == done.left and done.found[0].part == "counts" and not closed.backups.exists()
    assert repair_store(closed, Clock()).left == ()
