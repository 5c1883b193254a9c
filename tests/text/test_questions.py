"""What a question seeks beside its topic, and what a text tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.query import is_about_the_past, question_ratio, speaker_role


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


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("What did I say about Redis?", True),
        ("Can you list the order in which I brought up parts of the app?", True),
        ("When was the release?", True),
        ("which libraries have we tried", True),
        ("the port that you mentioned", True),
        ("How do I deploy the app?", False),
        ("Could you write a test for the login?", False),
        ("which libraries does the project use", False),
        ("I have to add a metric", False),
    ],
)
def test_a_question_about_the_past_is_told_from_a_task(question: str, past: bool) -> None:
    assert is_about_the_past(question) is past
