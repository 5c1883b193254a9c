"""Sketches tell how much two texts have in common, without the texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.near_duplicates import (
    SKETCH_SIZE,
    merge_sketches,
    pack_sketch,
    sketch,
    sketch_similarity,
    unpack_sketch,
)

texts = st.lists(st.text(st.sampled_from("ab\n é🦓"), max_size=30), max_size=8)


@given(one=texts, other=texts)
def test_merged_sketches_are_the_sketch_of_all(one: list[str], other: list[str]) -> None:
    assert merge_sketches(sketch(one), sketch(other)) == sketch([*one, *other])


@given(one=texts, other=texts)
def test_similarity_is_symmetric_and_whole_for_the_same(one: list[str], other: list[str]) -> None:
    a, b = sketch(one), sketch(other)
    assert sketch_similarity(a, b) == sketch_similarity(b, a)
    assert 0.0 <= sketch_similarity(a, b) <= 1.0
    assert sketch_similarity(a, a) == (1.0 if a else 0.0)


@given(given_=texts)
def test_a_sketch_is_small_and_survives_packing(given_: list[str]) -> None:
    made = sketch(given_)
    assert len(made) <= SKETCH_SIZE
    assert unpack_sketch(pack_sketch(made)) == made
    assert len(pack_sketch(made)) == 8 * len(made)


def test_case_and_blanks_do_not_matter_and_lines_do() -> None:
    assert sketch(["Retry  the upload\n\n"]) == sketch([" retry the UPLOAD"])
    assert sketch_similarity(sketch(["a\nb\nc"]), sketch(["b\nc\nd"])) == pytest.approx(0.5)
    assert sketch_similarity(sketch(["a"]), sketch(["b"])) == 0.0
    assert sketch_similarity(sketch([]), sketch([])) == 0.0


def test_long_texts_are_estimated() -> None:
    lines = [f"line {n}" for n in range(1000)]
    half = sketch_similarity(sketch(lines[:750]), sketch(lines[250:]))
    assert 0.2 < half < 0.8
    assert sketch_similarity(sketch(lines), sketch([*lines, "one more"])) > 0.9
