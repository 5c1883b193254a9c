"""The sentences that say most of a text: always its own, in their order, within their room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.sentences import MAX_SENTENCE, main_sentences, sentences, split_reason


def test_sentences_come_without_code_and_markdown() -> None:
    text = "# Title\n\nFirst one. Second one!\n- a point\n```\nx = 1.\n```\n東京。大阪。"
    assert sentences(text) == ["Title", "First one.", "Second one!", "a point", "東京。", "大阪。"]


def test_what_comes_up_most_is_chosen_and_said_once() -> None:
    lines = ["The cache is Redis and the cache is fast.", "Lunch was fine today.", "We chose Redis for the cache."]
    assert main_sentences([*lines, lines[0]], 90) == [lines[0], lines[2]]
    assert main_sentences([], 100) == [] == main_sentences(["..."], 2)


@given(st.lists(st.text(max_size=300), max_size=8), st.integers(0, 500))
def test_nothing_is_invented_and_the_room_is_kept(texts: list[str], room: int) -> None:
    chosen = main_sentences(texts, room)
    known = [sentence for text in texts for sentence in sentences(text)]
    assert set(chosen) <= set(known) and sum(map(len, chosen)) <= room
    assert chosen == sorted(chosen, key=known.index) and all(len(one) <= MAX_SENTENCE for one in chosen)


@pytest.mark.parametrize(
    ("text", "stated", "reason"),
    [
        (
            "Use argon2 for passwords because bcrypt cuts at 72 bytes.",
            "Use argon2 for passwords.",
            "Bcrypt cuts at 72 bytes.",
        ),
        (
            "Kafka was tried and dropped: one more system to run.",
            "Kafka was tried and dropped.",
            "One more system to run.",
        ),
        ("Cap the pool at 20 — the database refuses more.", "Cap the pool at 20.", "The database refuses more."),
        ("Amounts are integers. Floats lose cents.", "Amounts are integers.", "Floats lose cents."),
        ("Deploy on Tuesday, so that nobody works on Sunday.", "Deploy on Tuesday.", "So that nobody works on Sunday."),
        ("Decision: use Redis for sessions", "Decision: use Redis for sessions", ""),
        ("Look at https://example.com/a", "Look at https://example.com/a", ""),
        ("", "", ""),
    ],
)
def test_a_reason_is_told_from_what_is_stated(text: str, stated: str, reason: str) -> None:
    assert split_reason(text) == (stated, reason)


@given(st.text(max_size=300))
def test_no_text_is_too_strange_to_be_split(text: str) -> None:
    stated, reason = split_reason(text)
    assert bool(stated) == bool(sentences(text)) or not reason
