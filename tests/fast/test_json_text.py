"""The JSON of the fast program is what `json` reads and writes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.fast.json_text import object_in, parse_json, read_value, write_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


@given(VALUES, st.sampled_from(["", " ", "\n\t "]), st.booleans())
def test_what_was_written_is_read(value: object, before: str, ascii_: bool) -> None:
    assert parse_json(before + json.dumps(value, ensure_ascii=ascii_)) == value


@given(VALUES | st.text(st.characters()))
def test_it_is_written_alike(value: object) -> None:
    assert write_json(value) == json.dumps(value)


def test_what_has_no_json_is_not_written() -> None:
    with pytest.raises(TypeError):
        write_json({"a": b"bytes"})


def test_what_follows_a_value_is_refused_or_told() -> None:
    assert read_value('7,"result":', 0) == (7, 1)
    with pytest.raises(ValueError, match="more than one"):
        parse_json('{"a": 1} {}')
    # A host may write more after its object.
    assert object_in(b'\xef\xbb\xbf {"a": 1}\0\n') == {"a": 1}


@pytest.mark.parametrize(
    "text", ["", " ", "nothing", "{", '{"a": ', '{"a" 1}', "[1,", '"half', "\0", "-", "[" * 100_000]
)
def test_nonsense_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse_json(text)
