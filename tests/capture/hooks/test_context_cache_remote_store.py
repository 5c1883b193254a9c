"""Hooks of a machine whose store is a database on a server: they wait for nobody, and lose and invent nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.capture.hooks.drain_inline import BackgroundDrain, drop_stale_contexts
from commonplace.capture.hooks.spool_reader import spool_state
from commonplace.config import Settings
from commonplace.memory.content_fingerprint import fingerprint_reader
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

from .hook_runner import fire

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


def keep_rule(memory: LocalMemory) -> int:
    return remember(memory, NewItem(kind="memory", type="rule", content=RULE, project="my-api")).id


def test_the_first_session_of_a_folder_leaves_word_and_the_next_is_told(
    memory: LocalMemory, settings: Settings, work: Path
) -> None:
    keep_rule(memory)
    assert start(settings, work) == ""
    assert spool_state(settings).waiting == 1
    BackgroundDrain()(memory)
    assert spool_state(settings).waiting == 0
    assert RULE in start(settings, work)


def test_what_was_forgotten_is_told_to_nobody(memory: LocalMemory, settings: Settings, work: Path) -> None:
    rule = keep_rule(memory)
    serving = BackgroundDrain()
    start(settings, work)
    serving(memory)
    drop_stale_contexts(settings, fingerprint_reader(memory))
    assert RULE in start(settings, work), "nothing was changed"
    forget_items(memory, [rule])
    drop_stale_contexts(settings, fingerprint_reader(memory))
    assert RULE not in start(settings, work)
    keep_rule(memory)
    serving(memory)
    assert RULE in start(settings, work)


def test_a_server_keeps_it_true_whoever_writes(memory: LocalMemory, settings: Settings, work: Path) -> None:
    serving = BackgroundDrain()
    start(settings, work)
    serving(memory)
    assert RULE not in start(settings, work)
    keep_rule(memory)
    serving(memory)
    assert RULE in start(settings, work)


def test_another_database_is_another_memory(memory: LocalMemory, settings: Settings, work: Path) -> None:
    keep_rule(memory)
    start(settings, work)
    BackgroundDrain()(memory)
    assert RULE in start(settings, work)
    config = settings.data_dir / "config.toml"
    config.write_text('database_url = "postgresql://ann@127.0.0.1:1/team"\n', encoding="utf-8")
    away = replace(settings, database_url="postgresql://ann@127.0.0.1:1/team")
    assert RULE not in start(away, work)
    assert spool_state(away).waiting >= 1, "events wait until it is there"
