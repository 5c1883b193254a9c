"""Hooks of a machine whose store is a database on a server: they wait for nobody, and lose and invent nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.capture.hooks.beside import Draining, drop_untrue
from commonplace.capture.hooks.waiting import spool_state
from commonplace.config import Settings
from commonplace.memory.book import Book
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember
from commonplace.memory.unchanged import asker

from .firing import fire

RULE = "Amounts are integers of cents."


@pytest.fixture
def engine_name() -> str:
    return "postgres"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "my-api"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    return folder


def start(settings: Settings, work: Path) -> str:
    done = fire(settings, "kiro", "agentSpawn", {"session_id": "s1", "cwd": str(work)})
    assert done.returncode == 0
    return done.stdout.decode()


def keep_rule(book: Book) -> int:
    return remember(book, Note(kind="memory", type="rule", content=RULE, project="my-api")).id


def test_the_first_session_of_a_folder_leaves_word_and_the_next_is_told(
    book: Book, settings: Settings, work: Path
) -> None:
    keep_rule(book)
    assert start(settings, work) == ""
    assert spool_state(settings).waiting == 1
    Draining()(book)
    assert spool_state(settings).waiting == 0
    assert RULE in start(settings, work)


def test_what_was_forgotten_is_told_to_nobody(book: Book, settings: Settings, work: Path) -> None:
    rule = keep_rule(book)
    serving = Draining()
    start(settings, work)
    serving(book)
    drop_untrue(settings, asker(book))
    assert RULE in start(settings, work), "nothing was changed"
    forget(book, [rule])
    drop_untrue(settings, asker(book))
    assert RULE not in start(settings, work)
    keep_rule(book)
    serving(book)
    assert RULE in start(settings, work)


def test_a_server_keeps_it_true_whoever_writes(book: Book, settings: Settings, work: Path) -> None:
    serving = Draining()
    start(settings, work)
    serving(book)
    assert RULE not in start(settings, work)
    keep_rule(book)
    serving(book)
    assert RULE in start(settings, work)


def test_another_database_is_another_memory(book: Book, settings: Settings, work: Path) -> None:
    keep_rule(book)
    start(settings, work)
    Draining()(book)
    assert RULE in start(settings, work)
    config = settings.data_dir / "config.toml"
    config.write_text('database_url = "postgresql://ann@127.0.0.1:1/team"\n', encoding="utf-8")
    away = replace(settings, database_url="postgresql://ann@127.0.0.1:1/team")
    assert RULE not in start(away, work)
    assert spool_state(away).waiting >= 1, "events wait until it is there"
