"""The percentages of a search on two months of a developer: what stands at 50 % or more is mostly right."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.percentages import MONTHS, ask, stored
from training.worlds import read_world


@pytest.mark.parametrize(("month", "first"), [(MONTHS[0], 22), (MONTHS[1], 24)], ids=["seen", "blind"])
def test_what_is_called_likely_mostly_answers(month: Path, first: int, tmp_path: Path) -> None:
    world = read_world(month.stem, month.read_text(encoding="utf-8"))
    with stored([world], str(tmp_path)) as (memory, lines):
        asked = ask(memory, lines, world)
    answered = [one for one in asked if one.question.gold]
    unanswerable = [one for one in asked if not one.question.gold]
    assert (len(answered), len(unanswerable)) == (25, 15)
    assert sum(one.place == 0 for one in answered) >= first
    assert sum(one.wrong for one in answered) <= 1.5 * len(answered)
    assert sum(one.is_refused for one in unanswerable) >= 12
