"""Passages cover the text, keep to their size and end where a reader would pause."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.text.passages import Piece, split_passages
from commonplace.text.tokens import count_tokens

SENTENCE = "The quick brown fox jumps over the lazy dog and runs away. "


def test_a_short_text_is_one_piece() -> None:
    assert split_passages("hello") == [Piece("hello", 0, 5)]
    assert split_passages("\n\n  indented\n") == [Piece("  indented", 2, 12)]
    assert len(split_passages("x" * 2000)) == 1
    assert [piece.text for piece in split_passages("000\n    0", 1, 1)] == ["000", "0"]


def test_a_blank_text_has_no_pieces() -> None:
    assert split_passages("") == split_passages(" \n\t ") == []


def test_paragraphs_are_the_first_choice() -> None:
    text = "\n\n".join([SENTENCE * 8] * 10)
    pieces = split_passages(text)
    assert len(pieces) > 2
    assert all(piece.text.startswith("The quick") and piece.text.endswith("away.") for piece in pieces)
    assert all(250 <= count_tokens(piece.text) <= 500 for piece in pieces[:-1])
    assert all(text[piece.end : piece.end + 3].strip() == "" for piece in pieces)


def test_sentences_are_kept_whole_when_there_are_no_lines() -> None:
    assert all(piece.text.endswith("away.") for piece in split_passages(SENTENCE * 200))


def test_list_items_are_kept_whole() -> None:
    text = "\n".join(f"- item {i} with some words that go on for a while, as they do" for i in range(200))
    assert all(piece.text.startswith("- item") for piece in split_passages(text))


def test_words_are_kept_whole_when_there_are_no_sentences() -> None:
    assert {word for piece in split_passages("abcdefg " * 2000) for word in piece.text.split()} == {"abcdefg"}


@pytest.mark.parametrize("before", [0, 1, 5, 15, 25, 29, 33])
def test_a_code_fence_that_fits_is_never_cut(before: int) -> None:
    fence = "```python\n" + "\n\n".join(f"line_{i} = {i}" for i in range(110)) + "\n```"
    assert count_tokens(fence) <= 500
    text = SENTENCE * before + "\n" + fence + "\n" + SENTENCE * 40
    assert any(fence in piece.text for piece in split_passages(text))


def test_a_code_fence_too_long_is_cut_at_line_ends() -> None:
    text = "```\n" + "\n".join(f"    statement_number_{i}()" for i in range(500)) + "\n```\n"
    pieces = split_passages(text)
    assert all(piece.text.startswith("    statement") for piece in pieces[1:])
    assert all(count_tokens(piece.text) <= 500 for piece in pieces)


def test_marks_and_joined_emoji_stay_with_their_letter() -> None:
    family = "👩🏽‍👩‍👧‍👦"
    for text in ("e\u0301" * 3000, family * 600):
        assert all(piece.text[0] in ("e", "👩") for piece in split_passages(text))


borders = st.sampled_from(
    ["\n", "\n\n", " ", ". ", "```\n", "\n```\n", "~~~", "# h\n", "- ", "\u0301", "。", "\u3000", "  "]
)
texts = st.lists(st.one_of(st.text(max_size=30), borders), max_size=60).map("".join)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(texts, st.integers(1, 20), st.integers(1, 25))
def test_pieces_cover_every_visible_character_once_and_in_order(text: str, target: int, limit: int) -> None:
    pieces = split_passages(text, target, limit)
    position = 0
    for piece in pieces:
        assert piece.start >= position
        assert text[position : piece.start].strip() == ""
        assert piece.text == text[piece.start : piece.end]
        assert piece.text.strip()
        assert count_tokens(piece.text) <= limit
        position = piece.end
    assert text[position:].strip() == ""


@pytest.mark.parametrize("unit", ["x", " ", "```\n", SENTENCE, "\u0301", "a\n\n"])
def test_megabytes_are_split_without_losing_a_character(unit: str) -> None:
    """What takes quadratic time would not end."""
    text = unit * (3_000_000 // len(unit))
    assert sum(len("".join(piece.text.split())) for piece in split_passages(text)) == len("".join(text.split()))
