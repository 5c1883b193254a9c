"""The little JSON of a hook says and understands what `json` does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.hooks.context_cache import parse_json, quote_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


@given(VALUES, st.sampled_from(["", " ", "\n\t "]), st.booleans())
def test_what_was_written_is_read(value: object, before: str, ascii_: bool) -> None:
    assert parse_json(before + json.dumps(value, ensure_ascii=ascii_)) == value


@given(st.text(st.characters()))
def test_a_text_is_quoted_alike(text: str) -> None:
    assert quote_json(text) == json.dumps(text)


@pytest.mark.parametrize(
    "text", ["", " ", "nothing", "{", '{"a": ', '{"a" 1}', "[1,", '"half', "\0", "-", "[" * 100_000]
)
def test_nonsense_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse_json(text)
