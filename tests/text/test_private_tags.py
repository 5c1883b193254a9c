"""What is marked as private is left out, however it is nested, cut off or torn."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.text.redact import (
    STREAM_STATE_CHARS,
    chunk_without_private,
    joined_chunks,
    only_private,
    redact,
    redact_counted,
    without_private,
)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a <private>x</private> b", "a [private] b"),
        ("a <PRIVATE>x</Private> b", "a [private] b"),
        ("a <private reason='mine'>x\ny</private > b", "a [private] b"),
        ("a <private>x <private>y</private> z</private> b", "a [private] b"),
        ("a <private>x</private> b <private>y</private>", "a [private] b [private]"),
        ("a <private>x, and the rest", "a [private]"),
        ("a <private reason='x, and the rest", "a [private]"),
        ("```\n<private>x</private>\n```", "```\n[private]\n```"),
        ("`<private>x</private>`", "`[private]`"),
        ("<private>x</private>", "[private]"),
    ],
)
def test_what_is_private_is_left_out(text: str, stored: str) -> None:
    assert without_private(text) == stored
    assert redact(text) == stored


@pytest.mark.parametrize(
    "text",
    [
        "Between `<private>` and `</private>` nothing is kept.",
        "<private-key>x</private-key> <privately> <private/> b",
        "a </private> b",
        "class A { private: int x; } List<private_t> p;",
        "",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == text


def test_it_is_counted_among_the_secrets() -> None:
    assert redact_counted("<private>x</private> and <private>y")[1] == {"private": 2}


def test_a_text_that_is_all_private_says_nothing() -> None:
    assert only_private(without_private(" <private>x</private>\n<private>y</private> "))
    assert not only_private(without_private("<private>x</private> but this"))
    assert not only_private("")


def in_chunks(text: str, *cuts: int) -> str:
    parts = [""]
    for start, end in pairwise([0, *sorted(cuts), len(text)]):
        parts.append(chunk_without_private("".join(parts)[-STREAM_STATE_CHARS:], text[start:end]))
        assert "SECRET" not in parts[-1]
    return joined_chunks("".join(parts))


TORN = "one <private why='x'>SECRET <private>SECRET</private> SECRET</PRIVATE> two"


@pytest.mark.parametrize("cut", range(len(TORN)))
def test_a_tag_torn_anywhere_hides_what_it_hid(cut: int) -> None:
    assert in_chunks(TORN, cut) == "one [private] two"


def test_letter_by_letter_nothing_private_comes_through() -> None:
    assert in_chunks(TORN, *range(1, len(TORN))) == "one [private] two"
    assert in_chunks("one <private>SECRET", *range(1, 19)) == "one [private]"


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.sampled_from(["<private>", "</private>", "<", "/", "private", ">", "a", "b ", "`", "\n", "<p", "</"])),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_chunks_keep_what_the_whole_would(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts).replace("`", "'")
    result = in_chunks(text, *(cut for cut in cuts if cut <= len(text)))
    assert result.replace("[private]", "") == without_private(text).replace("[private]", "")


@pytest.mark.parametrize(
    "text", ["a<private b<private c", "<private a<private b> c", "<private x <private>y</private> z", "a <private <"]
)
def test_a_tag_whose_end_is_missing_is_a_tag_wherever_it_stands(text: str) -> None:
    public = without_private(text)
    assert public in ("a[private]", "a [private]", "[private]")
    assert without_private(public) == public
