"""Reading numbers out of an address: what JSON calls a number is one, anything else is left to be refused."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from commonplace.errors import InvalidInput
from commonplace.rest.docs import openapi
from commonplace.rest.endpoint import Endpoint
from commonplace.rest.reading import query_of


class Weighed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    weight: float = 0.0
    count: int = 0


ENDPOINT = Endpoint("GET", "/weighed", "Weigh", "Test", None, openapi, query=Weighed)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_as_it_was_written(number: float) -> None:
    assert math.isclose(query_of(ENDPOINT, f"weight={number!r}".replace("+", "%2B").encode()).weight, number)


@given(st.integers(-(10**17), 10**17))
def test_every_whole_number_is_read_as_it_was_written(number: int) -> None:
    read = query_of(ENDPOINT, f"count={number}&weight={number}".encode())
    assert (read.count, read.weight) == (number, float(number))


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1_0", "+1", "01", "1.", ".5", "0x1", "%201", "true", "[]"])
def test_what_is_no_number_is_refused(text: str) -> None:
    for name in ("weight", "count"):
        with pytest.raises(InvalidInput, match=name):
            query_of(ENDPOINT, f"{name}={text}".encode())


@given(st.binary(max_size=100))
def test_no_query_is_a_fault(raw: bytes) -> None:
    with contextlib.suppress(InvalidInput):
        assert isinstance(query_of(ENDPOINT, raw), Weighed)
