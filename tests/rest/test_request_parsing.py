"""Reading numbers, paths and ids: what JSON calls a number is one, and what the document allows is taken."""

from __future__ import annotations

import contextlib
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter

from commonplace.errors import InvalidInput
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import ref
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest, Endpoint
from commonplace.rest.request_parsing import parse_query
from commonplace.text.paths import MAX_GLOB, check_glob


class Weighed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    weight: float = 0.0
    count: int = 0


def read_weight(_memory: LocalMemory, _request: ApiRequest[Weighed, None]) -> Answer[None]:
    return Answer()


ENDPOINT = Endpoint("GET", "/weighed", read_weight, "weigh_get", "Weigh", None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_as_it_was_written(number: float) -> None:
    assert math.isclose(parse_query(ENDPOINT, f"weight={number!r}".replace("+", "%2B").encode()).weight, number)


@given(st.integers(-(10**17), 10**17))
def test_every_whole_number_is_read_as_it_was_written(number: int) -> None:
    read = parse_query(ENDPOINT, f"count={number}&weight={number}".encode())
    assert (read.count, read.weight) == (number, float(number))


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1_0", "+1", "01", "1.", ".5", "0x1", "%201", "true", "[]"])
def test_what_is_no_number_is_refused(text: str) -> None:
    for name in ("weight", "count"):
        with pytest.raises(InvalidInput, match=name):
            parse_query(ENDPOINT, f"{name}={text}".encode())


@given(st.binary(max_size=100))
def test_no_query_is_a_fault(raw: bytes) -> None:
    with contextlib.suppress(InvalidInput):
        assert isinstance(parse_query(ENDPOINT, raw), Weighed)


GLOB = TypeAdapter(fields.Glob).json_schema()["pattern"]


@given(st.from_regex(GLOB, fullmatch=True).filter(lambda glob: len(glob) <= MAX_GLOB and "{" not in glob))
def test_every_path_that_the_document_allows_is_taken(glob: str) -> None:
    assert check_glob(glob)


@pytest.mark.parametrize("glob", ["a.**/b.**/c.**/d.**/e", "***", "a**b/c**d/e**f/g**h"])
def test_stars_beside_each_other_are_no_name(glob: str) -> None:
    assert not re.search(GLOB, glob)


@pytest.mark.parametrize(
    "glob", ["src/api/**", "**/*.py", "a.*.b", "a.*", ".github/*", "*.{ts,tsx}", "test_*.py", "**"]
)
def test_paths_as_people_write_them_are_allowed(glob: str) -> None:
    assert re.search(GLOB, glob)


@given(st.from_regex(TypeAdapter(fields.Id).json_schema()["pattern"]))
def test_every_id_that_the_document_allows_can_be_looked_for(id_: str) -> None:
    assert ref(id_).text
