"""How likely is this an answer? One calibrated number between 0 and 1, the same in every reply; it orders them too."""

from __future__ import annotations

import math

# Chosen by benchmarks/calibration.py: at BORDER the odds are even, and a tenth more makes them e times better.
BORDER, STEEPNESS = 0.45, 10.0

# Below these something is noise, not an answer: found by meaning alone, or by a stray word.
NOISE, STRAY = 0.15, 0.05
# Among few passages even the nearest stranger is far away: the border of noise rises until there are this many.
CROWD = 40


def relevance(likeness: float) -> float:
    """The probability that something answers, from all that speaks for it."""
    x = STEEPNESS * (likeness - BORDER)
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def is_noise(likeness: float, *, worded: bool, meant: bool, among: int = CROWD) -> bool:
    """Whether to leave one of `among` candidates out: too far in meaning for the words it shares with the question.

    `worded` tells that words of the question found it, `meant` that its nearness in meaning is known.
    """
    if not meant:
        return not worded
    border = NOISE * min(1.0, 0.3 + 0.7 * among / CROWD)
    return relevance(likeness) < (STRAY if worded else border)
