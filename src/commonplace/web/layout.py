"""Where the points of the map lie: topics are discs that do not overlap, the largest in the middle, and in each disc
what is most central is nearest to its centre. The same topics always give the same map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt

# Between two points of a disc, and between two discs.
STEP, GAP = 6.0, 26.0
GOLDEN = pi * (3 - sqrt(5))


@dataclass(frozen=True, slots=True)
class Disc:
    """A topic on the map."""

    x: float
    y: float
    radius: float


def discs(sizes: Sequence[int]) -> list[Disc]:
    """A disc for each size, in their order, each as near to the middle as the ones before leave room for."""
    placed: list[Disc] = []
    for size in sizes:
        radius = STEP * (sqrt(size) + 1)
        placed.append(_beside(placed, radius))
    return placed


def points(disc: Disc, count: int) -> list[tuple[float, float]]:
    """So many points in a disc, from its centre outwards, evenly spread as the seeds of a sunflower are."""
    found = []
    for number in range(count):
        away, turn = STEP * sqrt(number), number * GOLDEN
        found.append((disc.x + away * cos(turn), disc.y + away * sin(turn)))
    return found


def _beside(placed: Sequence[Disc], radius: float) -> Disc:
    """The first free place on a spiral out of the middle."""
    turn = 0.0
    while True:
        away = 2.0 * turn
        disc = Disc(away * cos(turn), away * sin(turn), radius)
        if all(_apart(disc, other) for other in placed):
            return disc
        turn += 0.15 if away < 100 else 15 / away


def _apart(one: Disc, other: Disc) -> bool:
    return (one.x - other.x) ** 2 + (one.y - other.y) ** 2 >= (one.radius + other.radius + GAP) ** 2
