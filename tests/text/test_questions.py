"""What a question seeks beside its topic, and what a text tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.query import answer_type, has_answer_type, question_ratio, speaker_role


@pytest.mark.parametrize(
    ("question", "sort"),
    [
        ("When did Ann move?", "time"),
        ("what year was it built", "time"),
        ("How long did the migration take?", "time"),
        ("How many replicas do we run?", "number"),
        ("and how much memory does it need", "number"),
        ("Whenever it rains, what happens?", None),
        ("what happened when the server died", None),
        ("Why is it slow?", None),
        ("", None),
    ],
)
def test_the_sort_of_thing_that_is_sought(question: str, sort: str | None) -> None:
    assert answer_type(question) == sort


def test_what_a_text_tells() -> None:
    assert (
        has_answer_type("We moved last Friday.", "time")
        and has_answer_type("since 2019", "time")
        and has_answer_type("on the 3rd", "time")
    )
    assert not has_answer_type("We moved house.", "time")
    assert has_answer_type("three of them", "number") and has_answer_type("it takes 4.5 GB", "number")
    assert not has_answer_type("a lot of them", "number")


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
    assert answer_type(text) in ("time", "number", None)
    assert speaker_role(text) in ("user", "assistant", None)
    assert isinstance(has_answer_type(text, "time"), bool) and isinstance(has_answer_type(text, "number"), bool)
