"""Texts are near-duplicates if they have nearly the same words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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


WORDS = st.lists(st.sampled_from("deploy waits for the review of a new session in redis".split()), max_size=12)


@given(st.lists(WORDS.map(" ".join), max_size=12), st.sampled_from([0.5, 0.7, 0.9]))
def test_just_those_are_dropped_that_are_like_one_that_stays(texts: list[str], same: float) -> None:
    """The same as comparing each with all before it."""
    remaining: list[str] = []
    for text in texts:
        words = set(text.split())
        earlier = [set(other.split()) for other in remaining]
        if not any(len(words & other) >= same * len(words | other) for other in earlier):
            remaining.append(text)
    assert drop_near_duplicates(texts, WordSets(lambda text: text), same) == remaining
