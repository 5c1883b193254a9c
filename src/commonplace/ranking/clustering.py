"""Clustering passages into topics, in three steps that a person can follow.

Many small groups (k-means), the nearest of them joined while they are near on average, and then groups that are too
small and points too far from every centre left out. Directions are compared after subtracting what all points have in
common: within one project everything is a little alike. The same points give the same topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float32, int8, int64
    from numpy.typing import NDArray

    Floats = NDArray[float32]
    Rows = NDArray[int8] | NDArray[float32]

# Clusters are computed from at most this many points; the others are then assigned like new ones.
SAMPLE = 20_000
# The number of small groups, times the square root of the points; their first centres are drawn from this many.
SMALL_GROUPS, DRAWN_FROM = 4.0, 5000
ROUNDS, LAST_ROUNDS = 8, 3
# Two groups are joined while the mean cosine between their members is above this.
JOIN_COSINE = 0.2
# Points of one topic count as this much nearer to each other the next time, so that topics are stable.
STABILITY_BONUS = 0.2
# A point whose cosine to every centre is below this belongs to no topic.
MIN_COSINE = 0.3
# Smaller groups, or those below a third of the square root of all points, are not topics: nobody reads hundreds.
MIN_TOPIC_SIZE, MIN_TOPIC_SHARE = 3, 1 / 3
# How many points it takes until half of what they have in common is subtracted.
ALIKE = 20
# An old and a new topic are the same if they share this much of their members, or if their centres are this near.
OVERLAP, NEAR = 0.5, 0.9
BLOCK = 4096
NO_TOPIC = -1


@dataclass(frozen=True, slots=True)
class Centres:
    """The centres of topics: unit rows, after `shift` was subtracted."""

    shift: Floats
    rows: Floats


def cluster(points: Rows, before: NDArray[int64]) -> Centres:
    """The centres of the topics of these points; there may be none.

    `before` has the topic of each point so far, or NO_TOPIC.
    """
    import numpy as np

    shift = _shift(points)
    step = max(1, -(-len(points) // SAMPLE))
    sample, before = _directions(points[::step], shift), before[::step]
    fewest = max(MIN_TOPIC_SIZE, round(MIN_TOPIC_SHARE * len(sample) ** 0.5))
    if len(sample) < fewest:
        return Centres(shift, np.empty((0, points.shape[1]), np.float32))
    remembered = _with_stability(sample, before)
    small = _settle(remembered, _spread(remembered, int(SMALL_GROUPS * len(sample) ** 0.5)), ROUNDS)
    labels, _scores = _nearest(remembered, small)
    labels = _joined(remembered, labels, len(small))
    centres = _large_enough(sample, labels, fewest)
    for _ in range(LAST_ROUNDS):
        labels, scores = _nearest(sample, centres)
        labels[scores < MIN_COSINE] = NO_TOPIC
        centres = _large_enough(sample, labels, fewest)
    return Centres(shift, centres)


def assign(points: Rows, centres: Centres) -> tuple[NDArray[int64], Floats]:
    """For each point the topic it belongs to (NONE if it is far from all), and its cosine to that centre."""
    import numpy as np

    labels = np.full(len(points), NO_TOPIC, np.int64)
    scores = np.zeros(len(points), np.float32)
    if not len(centres.rows):
        return labels, scores
    for start in range(0, len(points), BLOCK):
        part = slice(start, start + BLOCK)
        labels[part], scores[part] = _nearest(_directions(points[part], centres.shift), centres.rows)
    labels[scores < MIN_COSINE] = NO_TOPIC
    return labels, scores


def same_topics(
    before: NDArray[int64], old_rows: Floats, labels: NDArray[int64], new_rows: Floats
) -> Mapping[int, int]:
    """Which new topic is which old one: shared members first, then near centres; each at most once.

    `before` and `labels` tell the old and the new topic of each point, or NONE.
    """
    import numpy as np

    if not len(old_rows) or not len(new_rows):
        return {}
    shared = np.zeros((len(new_rows), len(old_rows)), np.int64)
    both = (before != NO_TOPIC) & (labels != NO_TOPIC)
    np.add.at(shared, (labels[both], before[both]), 1)
    new_sizes = np.bincount(labels[labels != NO_TOPIC], minlength=len(new_rows))
    old_sizes = np.bincount(before[before != NO_TOPIC], minlength=len(old_rows))
    overlap = shared / np.maximum(new_sizes[:, None] + old_sizes[None, :] - shared, 1)
    near = new_rows @ old_rows.T
    here, there = np.nonzero((overlap >= OVERLAP) | (near >= NEAR))
    same: dict[int, int] = {}
    for at in np.lexsort((there, -near[here, there], -overlap[here, there])).tolist():
        new, old = int(here[at]), int(there[at])
        if new not in same and old not in same.values():
            same[new] = old
    return same


def _shift(points: Rows) -> Floats:
    """What all points have in common, less of it the fewer they are."""
    import numpy as np

    total = np.zeros(points.shape[1], np.float64)
    for part in _blocks(points):
        total += part.sum(axis=0)
    return (total / (len(points) + ALIKE)).astype(np.float32)


def _directions(points: Rows, shift: Floats) -> Floats:
    import numpy as np

    made = np.empty(points.shape, np.float32)
    start = 0
    for part in _blocks(points):
        made[start : start + len(part)] = _unit(part - shift)
        start += len(part)
    return made


def _blocks(points: Rows) -> Iterator[Floats]:
    """Unit rows, some at a time: all of them at once as floats would be four times as large."""
    import numpy as np

    for start in range(0, len(points), BLOCK):
        yield _unit(points[start : start + BLOCK].astype(np.float32))


def _unit(rows: Floats) -> Floats:
    import numpy as np

    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    made: Floats = (rows / lengths).astype(np.float32, copy=False)
    return made


def _spread(points: Floats, many: int) -> Floats:
    """Points to begin with, each drawn with a chance that grows with its distance from those drawn before."""
    import numpy as np

    points = points[:: max(1, -(-len(points) // DRAWN_FROM))]
    chance = np.random.default_rng(0)
    chosen = [int(chance.integers(len(points)))]
    far = 1.0 - points @ points[chosen[0]]
    while len(chosen) < min(many, len(points)):
        weights = np.maximum(far, 0.0) ** 2
        reach = np.cumsum(weights, dtype=np.float64)
        if reach[-1] <= 1e-9:
            break
        chosen.append(int(np.searchsorted(reach, chance.random() * reach[-1], side="right").clip(0, len(points) - 1)))
        far = np.minimum(far, 1.0 - points @ points[chosen[-1]])
    return points[chosen]


def _settle(points: Floats, centres: Floats, rounds: int) -> Floats:
    import numpy as np

    for _ in range(rounds):
        labels, _scores = _nearest(points, centres)
        sums = _sums(points, labels, len(centres))
        empty = np.bincount(labels, minlength=len(centres)) == 0
        centres = np.where(empty[:, None], centres, _unit(sums)).astype(np.float32)
    return centres


def _nearest(points: Floats, centres: Floats) -> tuple[NDArray[int64], Floats]:
    import numpy as np

    if not len(centres):
        return np.full(len(points), NO_TOPIC, np.int64), np.zeros(len(points), np.float32)
    labels = np.empty(len(points), np.int64)
    scores = np.empty(len(points), np.float32)
    for start in range(0, len(points), BLOCK):
        part = points[start : start + BLOCK] @ centres.T
        labels[start : start + BLOCK] = best = part.argmax(axis=1)
        scores[start : start + BLOCK] = part[np.arange(len(part)), best]
    return labels, scores


def _sums(points: Floats, labels: NDArray[int64], many: int) -> Floats:
    """The sum of the points of each label, left-out ones not counted."""
    import numpy as np

    inside = np.flatnonzero(labels >= 0)
    order = inside[np.argsort(labels[inside], kind="stable")]
    sums = np.zeros((many, points.shape[1]), np.float32)
    present, starts = np.unique(labels[order], return_index=True)
    if len(order):
        sums[present] = np.add.reduceat(points[order], starts, axis=0)
    return sums


def _with_stability(points: Floats, before: NDArray[int64]) -> Floats:
    """Points with more dimensions, in which those of one old topic are a little nearer to each other."""
    import numpy as np

    names = np.unique(before[before >= 0])
    memory = (before[:, None] == names[None, :]) * np.float32(STABILITY_BONUS**0.5)
    return np.hstack([points, memory]).astype(np.float32)


def _joined(points: Floats, labels: NDArray[int64], many: int) -> NDArray[int64]:
    """Labels after joining the two nearest groups again and again, while they are near on average."""
    import numpy as np

    sums = _sums(points, labels, many)
    sizes = np.maximum(np.bincount(labels, minlength=many), 1e-9).astype(np.float32)
    target = np.arange(many)
    near = (sums @ sums.T) / np.outer(sizes, sizes)
    near[sizes < 1, :] = near[:, sizes < 1] = -2.0
    np.fill_diagonal(near, -2.0)
    while True:
        one, other = divmod(int(near.argmax()), many)
        if near[one, other] < JOIN_COSINE:
            return target[labels]
        sums[one] += sums[other]
        sizes[one] += sizes[other]
        target[target == other] = one
        alive = near[one] > -2.0
        alive[other] = False
        near[other, :] = near[:, other] = -2.0
        row = np.where(alive, (sums @ sums[one]) / (sizes * sizes[one]), np.float32(-2.0))
        near[one, :] = near[:, one] = row


def _large_enough(points: Floats, labels: NDArray[int64], fewest: int) -> Floats:
    """The centres of the groups that are large enough, the largest first."""
    import numpy as np

    names, sizes = np.unique(labels[labels >= 0], return_counts=True)
    large = sizes >= fewest
    names, sizes = names[large], sizes[large]
    order = np.argsort(-sizes, kind="stable")
    place = np.full(int(labels.max(initial=-1)) + 2, NO_TOPIC, np.int64)
    place[names[order]] = np.arange(len(order))
    return _unit(_sums(points, place[labels], len(order)))
