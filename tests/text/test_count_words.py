"""Words are counted as people count them, in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.tokens import count_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (" \n\t ", 0),
        ("How can we optimize our database queries?", 7),
        ("  spaced   out \n over\tlines ", 4),
        ("don't-stop", 1),
        ("naïve café", 2),
        ("שלום עולם", 2),
        ("مرحبا بالعالم اليوم", 3),
        ("🦓 and 🦓", 3),
        ("数据库", 3),
        ("use 数据库 now", 5),
        ("データベース", 6),
        ("한국어 단어", 2),
        ("ภาษา", 4),
    ],
)
@pytest.mark.promise("sekha:decided:words")
def test_words_of_many_scripts(text: str, words: int) -> None:
    assert count_words(text) == words


@given(parts=st.lists(st.text(st.characters(codec="ascii", exclude_characters="\x1c\x1d\x1e\x1f"), max_size=8)))
def test_joined_by_a_blank_line_texts_have_the_words_of_all(parts: list[str]) -> None:
    assert count_words("\n\n".join(parts)) == sum(map(count_words, parts))


@given(text=st.text())
def test_a_text_has_words_exactly_if_it_is_not_blank(text: str) -> None:
    assert (count_words(text) > 0) == bool(text.strip())
    assert count_words(text) <= len(text)
