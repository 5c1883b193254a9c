"""Upkeep: what was lost from the index is found again, from the rows."""

from __future__ import annotations

from tests.raw_sql import behind

from commonplace.memory.check_and_repair import file_errors, index_missing_words, index_state
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember_all
from commonplace.model import Scope


def total(memory: LocalMemory, query: str) -> int:
    return len(recall(memory, query, Scope(), 20).hits)


def test_words_are_mended_in_steps_and_made_anew(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(f"Apple number {n}") for n in range(450)])
    assert file_errors(memory, 10) == () and index_state(memory, 10).wordless == 0
    with behind(memory.settings) as ask:
        ask(f"DELETE FROM {'words' if memory.settings.database_url else 'passages_fts'}")
    assert total(memory, "apple") == 0
    assert index_state(memory, 10).wordless == 450
    assert index_missing_words(memory) == 450
    assert total(memory, "apple") == 20 and index_state(memory, 10).wordless == 0
    assert index_missing_words(memory) == 0
    assert index_missing_words(memory, rebuild=True) == 450
    assert total(memory, "apple") == 20
