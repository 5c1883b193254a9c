"""What a question seeks beside its topic, and what a text tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.sought import asking_share, sort_sought, tells, whose_words


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
    assert sort_sought(question) == sort


def test_what_a_text_tells() -> None:
    assert tells("We moved last Friday.", "time") and tells("since 2019", "time") and tells("on the 3rd", "time")
    assert not tells("We moved house.", "time")
    assert tells("three of them", "number") and tells("it takes 4.5 GB", "number")
    assert not tells("a lot of them", "number")


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
    assert whose_words(question) == who


def test_how_much_of_a_text_asks() -> None:
    assert asking_share("Where? When?") == 1.0
    assert asking_share("I painted. And you?") == pytest.approx(8 / 18)
    assert asking_share("No question here.") == 0.0 == asking_share("")


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    assert 0.0 <= asking_share(text) <= 1.0
    assert sort_sought(text) in ("time", "number", None)
    assert whose_words(text) in ("user", "assistant", None)
    assert isinstance(tells(text, "time"), bool) and isinstance(tells(text, "number"), bool)
