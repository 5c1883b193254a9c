"""Titles are the first thing a text says, and cuts do not tear words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.text.sentences import shorten, title_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("\n\n  \n", ""),
        ("Fix the login", "Fix the login"),
        ("# Use JWT\n\nBecause.", "Use JWT"),
        ("## Closed ##", "Closed"),
        ("---\ntitle: x\n---\n# Real title", "Real title"),
        ("<!-- note -->\n> - [ ] **Do** `it` [now](https://x.org)!", "Do it now!"),
        ("1. First of all", "First of all"),
        ("***\n\nafter a rule", "after a rule"),
        ("```python\nimport this\n```\n", "import this"),
        ("```\ncode\n```\nthen prose", "then prose"),
        ("__init__ calls get_user_name", "__init__ calls get_user_name"),
        ("a * b * c", "a * b * c"),
        ("Short first sentence. " + "Then much more " * 10, "Short first sentence."),
        ("word " * 40, ("word " * 16).strip() + "…"),
    ],
)
def test_the_title_is_the_first_meaningful_line(text: str, title: str) -> None:
    assert title_of(text) == title


def test_a_cut_is_made_between_words_and_marked() -> None:
    assert shorten("one two three", 100) == "one two three"
    assert shorten("one two three", 9) == "one two…"
    assert shorten("one\n  two", 7) == "one two"
    assert shorten("x" * 20, 5) == "xxxx…"
    assert shorten("abc", 0) == ""


@settings(derandomize=True, deadline=None)
@given(st.text(), st.integers(0, 40))
def test_nothing_is_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit
    assert len(title_of(text, limit)) <= limit
    assert "\n" not in title_of(text, limit)
