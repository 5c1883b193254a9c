"""Contradictions are found, also in sentences that nobody made rules for, and seldom reported where there are none."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.contradictions import by_kind, found_by_product, found_by_words, read_pairs
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.memory.local_memory import open_memory


def test_words_alone_find_little_and_report_nearly_nothing_else() -> None:
    pairs = read_pairs("contradictions.txt")
    counts = by_kind(pairs, found := found_by_words(pairs))
    assert len(counts) >= 15 and len(found) >= 400 and sum(found) >= 0.1 * len(found)
    others = found_by_words(read_pairs("no_contradictions_blind.txt"))
    assert len(others) == 500 and sum(others) <= 0.005 * len(others)


def test_with_the_model_most_of_what_strangers_wrote_is_found_and_little_else(settings: Settings, clock: Clock) -> None:
    memory = open_memory(replace(settings, embedder="builtin"), clock)
    pairs, others = read_pairs("contradictions_blind.txt"), read_pairs("no_contradictions_blind.txt")[::4]
    found, false = found_by_product(memory, pairs), found_by_product(memory, others)
    assert sum(found) >= 0.7 * len(found)
    assert sum(false) <= 0.05 * len(false)
    memory.close()
