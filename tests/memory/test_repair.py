"""Check and repair: whatever is done to what is derived is found and made anew, and what was said stays as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as given_settings
from hypothesis import strategies as st
from tests.behind import behind
from tests.conftest import Clock

from commonplace import config
from commonplace.config import Settings
from commonplace.memory.background import Background
from commonplace.memory.book import Book, open_book
from commonplace.memory.check import check, glance
from commonplace.memory.conversations import Conversation, Said, keep
from commonplace.memory.forget import forget
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember, remember_all
from commonplace.memory.repair import repair
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


def fill(book: Book) -> None:
    """Something of everything, embedded, linked and grouped."""
    remember_all(book, [Note(f"Apple {n} of src/app.py", project=f"p{n % 3}", tags=["fruit"]) for n in range(12)])
    remember(book, Note("\n\n".join(f"Part {n}: " + "about pears and plums. " * 20 for n in range(8)), project="p1"))
    said = [Said("user", "Why does src/app.py fail?"), Said("assistant", "It reads pears. " * 200)]
    keep(book, Conversation("Pears", said))
    forget(book, [remember(book, Note("Cherry that was forgotten")).id])
    embed(book)
    work = Background(book)
    while work.step():
        pass


def embed(book: Book) -> None:
    """A vector for everything that waits, made of nothing but its number."""
    book.store.use_model("tiny", 8)
    while jobs := book.store.claim_jobs("me", 100, book.clock(), 60_000):
        vectors = np.array([np.roll(np.arange(1, 9), job.passage.id) for job in jobs], np.float32)
        book.store.finish_jobs(jobs, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), "me")


def truth(settings: Settings) -> dict[str, list[str]]:
    with behind(settings) as ask:
        return {table: sorted(map(str, ask(f"SELECT {rows} FROM {table}"))) for table, rows in TRUTH.items()}


@pytest.fixture
def filled(book: Book) -> Book:
    fill(book)
    return book


def test_a_store_that_is_well_is_found_to_be(filled: Book) -> None:
    assert check(filled) == [] and check(filled, quick=True) == [] and glance(filled) == []
    before = truth(filled.settings)
    done = repair(filled.settings, filled.clock)
    assert (done.found, done.left, done.done, done.kept) == ((), (), (), None)
    assert truth(filled.settings) == before and not filled.settings.backups.exists()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with something of everything, and nobody who has it open."""
    folder = tmp_path_factory.mktemp("sound")
    book = open_book(config.load({"data_dir": str(folder), "embedder": "off", "durability": "normal"}), Clock())
    fill(book)
    book.close()
    return book.settings.database


@given_settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(DAMAGE), st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=4))
def test_whatever_is_derived_is_made_anew(
    sound: Path, tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("hurt")
    told = config.load({"data_dir": str(folder), "embedder": "off", "durability": "normal"})
    shutil.copy(sound, told.database)
    before = truth(told)
    with behind(told) as ask:
        for statement, a, b in damages:
            # The words of rows, or only the list of them.
            words, row = ("passages_fts", "rowid") if b % 2 else ("passages_fts_docsize", "id")
            ask(statement.format(a=a, b=b, words=words, row=row))
    done = repair(told, Clock())
    assert done.left == (), damages
    assert truth(told) == before
    book = open_book(told, Clock())
    try:
        embed(book)
        assert check(book) == []
        assert len(recall(book, "apple", Scope(), 20).hits) == 12
        assert not recall(book, "cherry", Scope(), 20).hits
    finally:
        book.close()
    shutil.rmtree(folder)
