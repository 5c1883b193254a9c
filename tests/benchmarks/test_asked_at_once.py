"""Facts written over MCP and asked about at once, through a real server over stdio."""

from __future__ import annotations

from pathlib import Path

from benchmarks.asked_at_once import facts, measured


def test_the_right_fact_comes_first_right_after_writing_and_later(tmp_path: Path) -> None:
    # How many wait depends on the machine; tests/memory/test_embedding_before_search.py has the questions with most of
    # the vectors missing.
    waiting, at_once, later = measured(tmp_path / "data", count=200, questions=20)
    assert 0 <= waiting <= 200
    assert at_once.first >= 19
    assert later.first >= 19


def test_the_facts_differ_and_so_do_the_questions() -> None:
    made = facts(1_000)
    assert len({fact for fact, _question in made}) == len({question for _fact, question in made}) == 1_000
