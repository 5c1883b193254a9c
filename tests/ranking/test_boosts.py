"""What stands beside a hit speaks for it, never against it, and never makes an answer of it alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.ranking.scoring import (
    CONTEXT_CAP,
    CONTEXT_FLOOR,
    NEIGHBOUR_BOOST,
    RELEVANCE_MIDPOINT,
    SESSION_BOOST,
    boost_by_context,
    relevance,
)

scores = st.dictionaries(st.integers(1, 12), st.floats(-1, 1.6), max_size=12)
places = st.dictionaries(st.integers(1, 15), st.integers(1, 3), max_size=15)
orders = st.dictionaries(st.integers(1, 15), st.integers(1, 15), max_size=15).map(
    # Each follows at most one.
    lambda drawn: {key: after for after, key in {after: key for key, after in drawn.items()}.items() if key != after}
)


@given(scores, places, orders)
def test_company_never_harms_and_is_bounded(
    own: dict[int, float], sessions: dict[int, int], following: dict[int, int]
) -> None:
    made = boost_by_context(own, sessions, following)
    assert made.keys() == own.keys()
    assert all(
        own[key] <= made[key] <= own[key] + (2 * NEIGHBOUR_BOOST + SESSION_BOOST) * CONTEXT_CAP + 1e-9 for key in own
    )


@given(scores, places, orders)
def test_the_better_company_lifts_more(
    own: dict[int, float], sessions: dict[int, int], following: dict[int, int]
) -> None:
    better = boost_by_context({key: score + 0.1 for key, score in own.items()}, sessions, following)
    assert all(better[key] >= score + 0.1 - 1e-9 for key, score in boost_by_context(own, sessions, following).items())


def test_both_neighbours_and_the_best_of_the_session_count() -> None:
    made = boost_by_context({1: 0.5, 2: 0.4, 3: 0.7, 4: 0.4}, {1: 9, 2: 9, 3: 9, 4: 8}, {1: 2, 2: 3, 3: 77})
    spare = 0.7 - CONTEXT_FLOOR
    assert made[2] == pytest.approx(
        0.4 + NEIGHBOUR_BOOST * (0.5 - CONTEXT_FLOOR) + NEIGHBOUR_BOOST * spare + SESSION_BOOST * spare
    )
    assert made[3] == pytest.approx(0.7 + NEIGHBOUR_BOOST * (0.4 - CONTEXT_FLOOR) + SESSION_BOOST * spare)
    assert made[4] == pytest.approx(0.4 + SESSION_BOOST * (0.4 - CONTEXT_FLOOR))


@given(scores)
def test_to_be_alone_in_a_session_or_in_none_is_the_same(own: dict[int, float]) -> None:
    assert boost_by_context(own, {}, {}) == boost_by_context(own, {key: key for key in own}, {})


def test_a_stranger_between_two_perfect_hits_is_no_answer() -> None:
    made = boost_by_context({1: 1.6, 2: 0.1, 3: 1.6}, {1: 1, 2: 1, 3: 1}, {1: 2, 2: 3})
    assert made[2] < RELEVANCE_MIDPOINT and relevance(made[2]) < 0.5
