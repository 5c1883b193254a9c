"""What counts as the same statement, and that all of them have one fingerprint."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.plain_form import READ, fingerprint, plain_form

WORDS = ("Deploys", "userId", "on", "Fridays", "C++", "naïve", "Ärger", "数据库", "v2", "30", "don't", "🦓", "")
MARKS = (" ", "  ", "\n", "\u00a0", "\u3000", "\u1680", ". ", ", ", " - ", ' "', '" ', " (", ") ", "… ", "? ", ": ")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys happen on Fridays", "deploys  happen on fridays."),
        ("Use zod: always!", "use zod always"),
        ('The "staging" port (5433)', "the staging port 5433"),
        ("Sessions – in Redis", "sessions in redis"),
    ],
)
def test_capitals_spacing_and_punctuation_make_no_other_statement(one: str, other: str) -> None:
    assert plain_form(one) == plain_form(other) and fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"), [("userId", "userid"), ("Is it on?", "It is on."), ("C++", "C"), ("1.5 GB", "15 GB")]
)
def test_other_words_marks_in_words_and_questions_make_another(one: str, other: str) -> None:
    assert plain_form(one) != plain_form(other)


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(MARKS), st.sampled_from(MARKS)), max_size=8))
def test_texts_of_one_plain_form_have_one_fingerprint(parts: list[tuple[str, str, str]]) -> None:
    one = "".join(word + mark for word, mark, _other in parts)
    other = "".join(word.capitalize() + mark for word, _one, mark in parts)
    assert fingerprint(plain_form(one)) == fingerprint(one)
    if plain_form(one) == plain_form(other):
        assert fingerprint(one) == fingerprint(other)


def test_a_fingerprint_is_short_and_of_the_beginning_of_a_text() -> None:
    assert re.fullmatch("[0-9a-f]{16}", fingerprint("walrus"))
    long = "walrus " * READ
    assert fingerprint(long) == fingerprint(long + "seal") != fingerprint("seal " + long)
