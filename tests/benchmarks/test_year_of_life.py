"""The year of synthetic life: the same every time, with an answer for every question, written by real verbs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.year_of_life import CHANGES, DAYS, HOW, ITEMS, Generator, Writer, ask, measured, ms

from commonplace import config
from commonplace.memory.local_memory import open_memory


def test_a_year_has_its_items_and_changes_and_is_the_same_every_time() -> None:
    year = Generator().year()
    result = Counter(entry.told for entry in year.entries)
    assert len(year.entries) == ITEMS
    assert sum(result[how] for how in HOW) == CHANGES
    assert min(result[how] for how in HOW) >= 10
    assert year == Generator().year()
    assert year != Generator(seed=23).year()


def test_every_question_has_an_answer_that_was_written_before() -> None:
    year = Generator().year()
    written = {entry.text: entry.at_ms for entry in year.entries}
    for question in year.questions:
        assert question.right
        assert all(written[text] <= question.as_of_ms <= ms(DAYS) for text in question.right)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_small_year_can_be_lived(seed: int, tmp_path: Path) -> None:
    year = Generator(items=160, changes=20, seed=seed).year()
    clock = [ms(0)]
    settings = config.load({"data_dir": str(tmp_path), "embedder": "off"}, env={})
    memory = open_memory(settings, lambda: clock[0])
    Writer(memory, clock).write(year)
    now = [question for question in year.questions if question.is_now]
    counts, wrong = measured(memory, now, ask)
    memory.close()
    assert sum(request for _right, request in counts.values()) == len(now)
    assert len(wrong) < len(now) / 2
