"""Names are taken out whole, with what makes them somebody's, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.query import may_name_somebody, without_names


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("What did Caroline research?", ["Caroline"], "What did research?"),
        ("what are caroline's plans", ["Caroline"], "what are plans"),
        ("Did Jo meet Joanna?", ["Jo"], "Did meet Joanna?"),
        ("Ann\u2019s and Bob's dog", ["Ann", "Bob"], "and dog"),
        ("What about C++?", ["a.b"], "What about C++?"),
        ("Zo\u00eb", ["zo\u00eb"], ""),
        ("two  blanks stay", [], "two  blanks stay"),
    ],
)
def test_names_are_taken_out(text: str, names: list[str], left: str) -> None:
    assert without_names(text, names) == left


@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
def test_any_text_and_any_names_will_do(text: str, names: list[str]) -> None:
    assert len(without_names(text, names)) <= len(text)


@pytest.mark.parametrize(
    ("question", "may"),
    [
        ("where does Ann live?", True),
        ("Where did Ann and I meet?", True),
        ("did O'Neil call?", True),
        ("Where do users stay logged in?", False),
        ("what did I say about the API?", False),
        ("ann", False),
        ("誰がデプロイしますか", False),
        ("", False),
    ],
)
def test_a_name_is_written_like_one(question: str, may: bool) -> None:
    assert may_name_somebody(question) == may
