"""Topics of points: groups that lie together are found, strangers are left out, and groups stay what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.ranking import clustering
from commonplace.ranking.clustering import MIN_COSINE, MIN_TOPIC_SIZE, NO_TOPIC, assign, cluster, same_topics

if TYPE_CHECKING:
    from numpy import float32, int8, int64
    from numpy.typing import NDArray

DIM = 32


def planted(sizes: list[int], seed: int = 1, spread: float = 0.08, dim: int = DIM) -> NDArray[int8]:
    """Points around centres that point in unlike directions, one group after the other."""
    chance = np.random.default_rng(seed)
    centres = np.linalg.qr(chance.standard_normal((dim, dim)))[0][: len(sizes)]
    rows = [centre + spread * chance.standard_normal((size, dim)) for centre, size in zip(centres, sizes, strict=True)]
    return as_bytes(np.concatenate(rows))


def as_bytes(rows: NDArray[np.float64]) -> NDArray[int8]:
    made: NDArray[int8] = np.rint(rows / np.abs(rows).max(axis=1, keepdims=True) * 127).astype(np.int8)
    return made


def unknown(points: NDArray[int8]) -> NDArray[int64]:
    return np.full(len(points), NO_TOPIC)


def grouped(points: NDArray[int8], before: NDArray[int64] | None = None) -> NDArray[int64]:
    return assign(points, cluster(points, unknown(points) if before is None else before))[0]


def parts(labels: NDArray[int64]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {NO_TOPIC}}


def test_planted_groups_are_found() -> None:
    labels = grouped(planted([40, 30, 20, 10]))
    assert parts(labels) == {
        frozenset(range(40)),
        frozenset(range(40, 70)),
        frozenset(range(70, 90)),
        frozenset(range(90, 100)),
    }


def test_the_largest_group_comes_first() -> None:
    labels = grouped(planted([10, 40, 20]))
    assert [labels[0], labels[10], labels[50]] == [2, 0, 1]


def test_strangers_belong_to_no_topic() -> None:
    chance = np.random.default_rng(2)
    points = np.concatenate([planted([40, 40], dim=128), as_bytes(chance.standard_normal((12, 128)))])
    labels = grouped(points)
    assert (labels[:80] != NO_TOPIC).all()
    assert (labels[80:] == NO_TOPIC).all()


def test_few_that_lie_together_are_no_topic_among_many() -> None:
    assert len(parts(grouped(planted([300, 300, 3])))) == 2
    assert len(parts(grouped(planted([4, 4, 3])))) == 3


@pytest.mark.parametrize("many", [0, 1, 2])
def test_too_few_points_have_no_topics(many: int) -> None:
    points = planted([9])[:many]
    centres = cluster(points, unknown(points))
    assert centres.rows.shape == (0, DIM)
    assert assign(points, centres)[0].tolist() == [NO_TOPIC] * many


@pytest.mark.parametrize("many", [3, 5, 50, 5000])
def test_identical_points_are_one_topic(many: int) -> None:
    assert parts(grouped(np.repeat(planted([1]), many, axis=0))) == {frozenset(range(many))}


def test_points_without_a_direction_harm_nobody() -> None:
    points = np.concatenate([planted([20, 20]), np.zeros((5, DIM), np.int8)])
    labels = grouped(points)
    assert {frozenset(range(20)), frozenset(range(20, 40))} <= {part - set(range(40, 45)) for part in parts(labels)}


def test_more_points_than_are_looked_at_are_assigned_all() -> None:
    sizes = [clustering.SAMPLE, clustering.SAMPLE // 2, 2000]
    labels = grouped(planted(sizes, dim=8, spread=0.05))
    assert np.bincount(labels[labels != NO_TOPIC]).tolist() == sizes


def test_a_new_point_is_assigned_where_it_would_have_been() -> None:
    points = planted([40, 30, 20])
    centres = cluster(points[1::2], unknown(points[1::2]))
    labels, scores = assign(points, centres)
    assert len(parts(labels)) == 3 and scores.min() > MIN_COSINE
    assert parts(labels) == parts(grouped(points))


def overlapping(seed: int) -> NDArray[int8]:
    """Points without clear borders, where chance decides much."""
    return planted([30] * 12, seed=seed, spread=0.3)[np.random.default_rng(seed).permutation(360)]


def stayed(first: NDArray[int64], again: NDArray[int64]) -> float:
    """The share of the points that are still with most of those that they were with."""
    old = set(first.tolist()) - {NO_TOPIC}
    together = [int(np.bincount(again[(first == one) & (again != NO_TOPIC)]).max(initial=0)) for one in old]
    return float(sum(together) / (first != NO_TOPIC).sum())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_groups_stay_together_when_more_points_come(seed: int) -> None:
    points = overlapping(seed)
    first = grouped(points[:270])
    again = grouped(points, np.concatenate([first, np.full(90, NO_TOPIC)]))
    assert stayed(first, again[:270]) > max(0.8, stayed(first, grouped(points)[:270]))


def test_a_group_that_is_new_is_found_beside_those_that_were_there() -> None:
    points = planted([40, 40, 40])
    before = np.repeat([0, 1, NO_TOPIC], 40)
    assert len(parts(grouped(points, before))) == 3


def test_the_same_topic_is_known_by_its_members_or_by_its_centre() -> None:
    rows = np.eye(4, dtype=np.float32)
    before = np.array([0, 0, 0, 1, 1, 1, 2, 2, NO_TOPIC, NO_TOPIC])
    labels = np.array([1, 1, 1, 0, 0, NO_TOPIC, NO_TOPIC, NO_TOPIC, 2, 2])
    assert same_topics(before, rows[:3], labels, rows[[3, 3, 2]]) == {1: 0, 0: 1, 2: 2}
    assert same_topics(before, rows[:3], labels, rows[[3, 3, 3]]) == {1: 0, 0: 1}


def test_only_one_of_two_halves_stays_the_topic() -> None:
    rows = np.eye(4, dtype=np.float32)
    before = np.zeros(10, np.int64)
    assert same_topics(before, rows[:1], np.array([0] * 4 + [1] * 6), rows[1:3]) == {1: 0}
    assert same_topics(before, rows[:1], np.array([0] * 5 + [1] * 5), rows[1:3]) in ({0: 0}, {1: 0})
    assert same_topics(unknown(planted([10])), rows[:0], before, rows[:1]) == {}


@st.composite
def clouds(draw: st.DrawFn) -> NDArray[int8]:
    many, groups = draw(st.integers(0, 60)), draw(st.integers(1, 5))
    chance = np.random.default_rng(draw(st.integers(0, 1000)))
    centres = chance.integers(-100, 101, (groups, 6))
    noise = chance.integers(-27, 28, (many, 6))
    made: NDArray[int8] = (centres[chance.integers(groups, size=many)] + noise).astype(np.int8)
    return made


@given(clouds(), st.booleans())
def test_every_point_is_in_one_topic_or_none_and_always_in_the_same(points: NDArray[int8], remembering: bool) -> None:
    before = np.arange(len(points)) % 3 if remembering else unknown(points)
    centres = cluster(points, before)
    labels, scores = assign(points, centres)
    assert len(labels) == len(scores) == len(points)
    assert ((labels >= NO_TOPIC) & (labels < len(centres.rows))).all()
    assert (scores[labels != NO_TOPIC] >= MIN_COSINE).all() and (scores <= 1.001).all()
    assert len(centres.rows) <= len(points) // MIN_TOPIC_SIZE + 1
    assert np.array_equal(centres.rows, cluster(points, before).rows)


def test_the_directions_count_and_not_the_lengths() -> None:
    points = planted([20, 20, 20])
    longer: NDArray[float32] = points.astype(np.float32) * np.linspace(0.5, 9, len(points), dtype=np.float32)[:, None]
    assert parts(assign(longer, cluster(longer, unknown(points)))[0]) == parts(grouped(points))
