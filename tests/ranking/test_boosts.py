"""What stands beside a hit speaks for it, never against it, and never makes an answer of it alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.ranking.scores_and_relevance import (
    CONTEXT_CAP,
    CONTEXT_FLOOR,
    NEIGHBOUR_BOOST,
    OTHER_ROLE_PENALTY,
    RELEVANCE_MIDPOINT,
    ROLE_BOOST,
    SESSION_BOOST,
    SPEAKER_BOOST,
    boost_by_context,
    boost_by_role,
    boost_by_speaker,
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


@given(scores, st.frozensets(st.integers(1, 15)))
def test_what_a_named_person_said_counts_more_unless_that_is_everything(
    own: dict[int, float], by_named: frozenset[int]
) -> None:
    made = boost_by_speaker(own, by_named)
    more = 0.0 if own.keys() <= by_named else SPEAKER_BOOST
    assert made == {key: score + (more if key in by_named else 0.0) for key, score in own.items()}


@given(scores, st.frozensets(st.integers(1, 7)), st.frozensets(st.integers(8, 15)))
def test_only_the_words_of_either_side_are_weighed(
    own: dict[int, float], theirs: frozenset[int], others: frozenset[int]
) -> None:
    made = boost_by_role(own, theirs, others)
    assert made == {
        key: own[key] + (ROLE_BOOST if key in theirs else -OTHER_ROLE_PENALTY if key in others else 0.0) for key in own
    }
