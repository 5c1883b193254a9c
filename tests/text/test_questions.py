"""What a question seeks beside its topic, and what a text tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.query import question_ratio, speaker_role


@pytest.mark.parametrize(
    ("question", "who"),
    [
        ("When does my first sprint end?", "user"),
        ("what did I say about Redis", "user"),
        ("What did you suggest for caching?", "assistant"),
        ("the library that you recommended to me", "assistant"),
        ("What steps would you suggest I take?", "user"),
        ("how do we deploy", None),
        ("the i in team", None),
        ("army knife", None),
        ("slow disk I/O", None),
        ("the my-app service, which port", None),
        ("Where did I've put it", "user"),
    ],
)
def test_whose_words_are_meant(question: str, who: str | None) -> None:
    assert speaker_role(question) == who


def test_how_much_of_a_text_asks() -> None:
    assert question_ratio("Where? When?") == 1.0
    assert question_ratio("I painted. And you?") == pytest.approx(8 / 18)
    assert question_ratio("No question here.") == 0.0 == question_ratio("")


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    assert 0.0 <= question_ratio(text) <= 1.0
    assert speaker_role(text) in ("user", "assistant", None)
