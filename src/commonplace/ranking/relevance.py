"""How likely is this passage an answer? One calibrated number between 0 and 1, the same in every reply."""

from __future__ import annotations

import math

from commonplace.ranking.fusion import Evidence

# A logistic model of two facts: how near in meaning, and how much of the question's words stands there.
# The border of 0.5 and the weight of the words are chosen by benchmarks/calibration.py.
INTERCEPT, COSINE, FOUND = -4.2, 10.0, 5.5
# Without a vector only the words speak.
WORDS_INTERCEPT, WORDS_FOUND = -2.6, 5.2

# Below these a passage is noise, not an answer: found by meaning alone, or by a stray word.
NOISE, STRAY = 0.2, 0.06
# Among few passages even the nearest stranger is far away: the border of noise rises until there are this many.
CROWD = 40


def relevance(evidence: Evidence) -> float:
    """The probability that the passage answers, from its evidence."""
    if evidence.cosine is None:
        return _logistic(WORDS_INTERCEPT + WORDS_FOUND * evidence.found)
    return _logistic(INTERCEPT + COSINE * evidence.cosine + FOUND * evidence.found)


def is_noise(evidence: Evidence, among: int = CROWD) -> bool:
    """Whether to leave one of `among` candidates out: too far in meaning for the words it shares with the question."""
    if evidence.cosine is None:
        return evidence.bm25 <= 0.0
    border = NOISE * min(1.0, 0.3 + 0.7 * among / CROWD)
    return relevance(evidence) < (STRAY if evidence.bm25 > 0.0 else border)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))
