"""JSON of any length: the same elements however the bytes arrive, and true words where it breaks."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.import_report import Skipped
from commonplace.capture.importers import json_reader
from commonplace.capture.importers.json_reader import Element, elements

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Slow(io.BytesIO):
    """Gives fewer bytes than it is asked for, as a pipe does."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1 if size is None or size < 0 else max(1, size // 2))


def read(raw: bytes, within: str = "conversations", chunk: int = 7) -> tuple[list[Any], list[Skipped]]:
    found = list(elements(io.BytesIO(raw), within, chunk))
    values = [one.value for one in found if isinstance(one, Element)]
    return values, [one for one in found if isinstance(one, Skipped)]


@given(
    values=st.lists(JSON, max_size=5), chunk=st.integers(1, 40), ascii_=st.booleans(), indent=st.sampled_from([None, 2])
)
def test_an_array_cut_anywhere_gives_the_same_elements(
    values: list[Any], chunk: int, ascii_: bool, indent: int | None
) -> None:
    raw = json.dumps(values, ensure_ascii=ascii_, indent=indent).encode("utf-8", "surrogatepass")
    if not ascii_ and any(0xD800 <= ord(char) < 0xE000 for char in json.dumps(values, ensure_ascii=False)):
        raw = json.dumps(values).encode()
    assert read(raw, chunk=chunk) == (values, [])
    assert [one.value for one in elements(Slow(raw), "x", chunk) if isinstance(one, Element)] == values


@given(values=st.lists(JSON, max_size=4), chunk=st.integers(1, 40), before=JSON, after=JSON)
def test_a_named_array_is_read_from_within_an_object(values: list[Any], chunk: int, before: Any, after: Any) -> None:
    raw = json.dumps({"format": before, "conversations": values, "count": after}).encode()
    assert read(raw, chunk=chunk) == (values, [])


@pytest.mark.parametrize("number", ["0.0", "-1.5", "1e5", "2E-3", "1.5e+10"])
def test_a_number_may_be_cut_anywhere(number: str) -> None:
    for chunk in range(1, 12):
        assert read(f'{{"conversations": [{number}, 7], "count": {number}}}'.encode(), chunk=chunk) == (
            [json.loads(number), 7],
            [],
        )


@given(values=st.lists(JSON.filter(bool), min_size=1, max_size=4), chunk=st.integers(1, 40), cut=st.integers(1, 200))
def test_what_came_before_a_cut_is_kept_and_the_cut_is_told(values: list[Any], chunk: int, cut: int) -> None:
    whole = json.dumps(values).encode()
    raw = whole[: max(1, len(whole) - cut)]
    found, skipped = read(raw, chunk=chunk)
    assert found == values[: len(found)] or found[:-1] == values[: len(found) - 1]
    assert len(skipped) == 1 and skipped[0].unit == "file"


@given(raw=st.binary(max_size=60), chunk=st.integers(1, 20))
def test_no_bytes_raise(raw: bytes, chunk: int) -> None:
    read(raw, chunk=chunk)
    read(b"[" + raw, chunk=chunk)
    read(b'{"conversations": [' + raw, chunk=chunk)


def test_a_lone_object_is_one_element() -> None:
    assert read(b' {"id": 1, "mapping": {}} ') == ([{"id": 1, "mapping": {}}], [])


def test_lines_of_json_are_elements() -> None:
    assert read(b'{"a": 1}\n{"a": 2}\n') == ([{"a": 1}, {"a": 2}], [])


def test_elements_know_their_number_and_place() -> None:
    first, second = elements(io.BytesIO(b'[{"a": 1}, {"b": 2}]'), "x")
    assert first == Element(1, 1, {"a": 1}) and second == Element(2, 11, {"b": 2})


def test_a_byte_order_mark_is_no_content() -> None:
    assert read(b"\xef\xbb\xbf[1, 2]", chunk=1) == ([1, 2], [])


BROKEN = [
    (b'[{"a": 1}, {"b": tru}, {"c": 3}]', [{"a": 1}], "not JSON"),
    (b'[{"a": 1}, {"b": 2} {"c": 3}]', [{"a": 1}, {"b": 2}], "] is missing at character 20"),
    (b'[{"a": 1}, {"b": 2}', [{"a": 1}, {"b": 2}], "the file ends too early"),
    (b'[{"a": 1}, {"b": "half', [{"a": 1}], "ends in the middle of a value that begins at character 11"),
    (b'[{"a": 1}, {"b": "\xff"}]', [{"a": 1}], "bytes that are not UTF-8 at character 18"),
    (b"[1, 2] trailing", [1, 2], "it is not JSON at character 7"),
    (b"nonsense", [], "it is not JSON at character 0"),
    ("[1]".encode("utf-16"), [], "bytes that are not UTF-8"),
    (b"[1, " + b"9" * 5000 + b"]", [1], "too long"),
    (b"[1, " + b"[" * 200_000, [1], "too deep"),
    (b'{"a": 1, 2: 3}', [], "a field has no name"),
    (b'{"a" 1}', [], ": is missing"),
]


@pytest.mark.parametrize(("raw", "stored", "why"), BROKEN, ids=[why for _raw, _stored, why in BROKEN])
@pytest.mark.parametrize("chunk", [3, json_reader.CHUNK])
def test_where_it_breaks_is_told_and_what_came_before_is_kept(
    raw: bytes, stored: list[Any], why: str, chunk: int
) -> None:
    found, (skipped,) = read(raw, chunk=chunk)
    assert found == stored and why in skipped.why


def test_an_element_without_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "MAX_ELEMENT", 1000)
    found, (skipped,) = read(b'[1, "' + b"x" * 5000 + b'", 2]', chunk=100)
    assert found == [1] and "more than 1,000 characters" in skipped.why


def test_a_malformed_element_is_noticed_before_the_rest_is_read() -> None:
    raw = io.BytesIO(b'[{"a": nonsense}, "' + b"x" * 10_000_000 + b'"]')
    (skipped,) = elements(raw, "x", 1000)
    assert isinstance(skipped, Skipped) and raw.tell() < 10_000
