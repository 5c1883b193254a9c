"""Differences of texts: both can be read from them, and long texts are no trouble."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.diff import MOST_LINES, DiffHunk, PieceKind, diff_texts

TEXT = st.text("ab \n.", max_size=60)


def side(stretches: list[DiffHunk], gone: PieceKind) -> str:
    """One of the two texts, as far as it is shown."""
    parts = ("".join(piece.text for piece in one.pieces if piece.sort != gone) for one in stretches)
    return "".join(part.replace("\n", "") for part in parts)


@given(TEXT, TEXT)
def test_both_texts_can_be_read_from_their_difference(old: str, new: str) -> None:
    found = diff_texts(old, new)
    assert bool(found) == (old != new)
    if found and not any(one.left_out for one in found):
        assert side(found, "new") == old.replace("\n", "") and side(found, "gone") == new.replace("\n", "")


def test_words_are_compared_within_a_line() -> None:
    (stretch,) = diff_texts("Sessions live in Redis now", "Sessions live in PostgreSQL now")
    assert [(piece.sort, piece.text) for piece in stretch.pieces] == [
        ("same", "Sessions live in "),
        ("gone", "Redis "),
        ("new", "PostgreSQL "),
        ("same", "now"),
    ]


def test_what_has_little_in_common_is_told_one_after_the_other() -> None:
    (stretch,) = diff_texts("Use tabs.", "Deploy from the main branch only, after lunch!")
    assert [piece.sort for piece in stretch.pieces] == ["gone", "same", "new"]


def test_what_did_not_change_is_counted() -> None:
    lines = [f"line {n}" for n in range(50)]
    found = diff_texts("\n".join(lines), "\n".join([*lines[:25], "another", *lines[25:]]))
    assert [one.left_out for one in found] == [23, 0, 0, 0, 23]
    assert [piece.text for piece in found[2].pieces] == ["another"]


def test_two_long_texts_without_a_common_line_are_no_trouble() -> None:
    old, new = ("\n".join(f"{word} {n}" for n in range(20 * MOST_LINES)) for word in ("old", "new"))
    (stretch,) = diff_texts(old, new)
    assert [piece.sort for piece in stretch.pieces] == ["gone", "same", "new"]
