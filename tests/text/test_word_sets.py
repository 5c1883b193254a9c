"""Sets of words: what one question has read, the next one compares with."""

from __future__ import annotations

import pytest

from commonplace.text import near_duplicates
from commonplace.text.near_duplicates import WordSets, drop_near_duplicates, group_near_duplicates

TEXTS = ["The deploy waits for review", "the deploy waits, for REVIEW!", "Sessions live in Redis", "the deploy waits"]


def distinct(texts: list[str]) -> list[str]:
    return drop_near_duplicates(texts, WordSets(lambda text: text))


def test_what_was_read_before_is_compared_alike() -> None:
    first = distinct(TEXTS)
    assert first == [TEXTS[0], TEXTS[2], TEXTS[3]]
    assert distinct(TEXTS) == first
    assert distinct(TEXTS[::-1]) == [TEXTS[3], TEXTS[2], TEXTS[1]]
    assert group_near_duplicates(TEXTS, WordSets(lambda text: text)) == [TEXTS[:2]]


def test_a_question_in_the_middle_keeps_its_numbers_when_another_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    sets: WordSets[str] = WordSets(lambda text: text)
    one = sets.of(TEXTS[0])
    monkeypatch.setattr(near_duplicates, "MOST_WORDS", 0)
    other: WordSets[str] = WordSets(lambda text: text)
    other.of("entirely different words come first here")
    assert one.is_like(sets.of(TEXTS[1]), 1.0)
    assert not one.is_like(sets.of(TEXTS[2]), 0.1)
    assert distinct(TEXTS) == [TEXTS[0], TEXTS[2], TEXTS[3]]
