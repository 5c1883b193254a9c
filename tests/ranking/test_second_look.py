"""A second look at what was found: what it tells, when, and whether it only asks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.ranking.second_look import ASKS, TELLS, WHEN, second_look

shares = st.floats(0, 1)


@given(st.floats(-1, 2), st.booleans(), shares, shares)
def test_it_moves_a_hit_a_little_and_never_the_wrong_way(
    likeness: float, tells: bool, nearness: float, asks: float
) -> None:
    looked = second_look(likeness, tells=tells, nearness=nearness, asks=asks)
    assert likeness - ASKS - 1e-9 <= looked <= likeness + TELLS + WHEN + 1e-9
    assert looked >= second_look(likeness, tells=False, nearness=nearness, asks=asks)
    assert looked <= second_look(likeness, tells=tells, nearness=1.0, asks=0.0)


def test_what_tells_nothing_special_stays_as_it_was() -> None:
    assert second_look(0.4, tells=False, nearness=0.0, asks=0.0) == pytest.approx(0.4)
