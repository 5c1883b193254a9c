"""Two kinds of evidence into one number: what the words say and what the meaning says of a passage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

# What all the words of a question are worth beside a cosine of 1. Measured best between 0.3 and 0.6.
LEXICAL_WEIGHT = 0.4
# What a passage without a vector may be expected to mean is judged by so many that are like it.
SIMILAR_PASSAGES = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one passage: BM25 (0 if the words did not find it), cosine (None if unknown), found share."""

    bm25: float = 0.0
    cosine: float | None = None
    found: float = 0.0

    @property
    def semantic(self) -> float:
        """Nearness in meaning as a signal: 0 where it is unknown or opposite."""
        return max(0.0, self.cosine or 0.0)


def fused_score(evidence: Evidence, best_bm25: float, expected: float = 0.0) -> float:
    """How much speaks for a passage, on a scale that is the same for every question.

    Where no cosine is known the words say how large it may be expected to be, and `expected` what passages like it
    have: what was just written has no vector yet, and must not stand behind strangers that have one.
    """
    words = lexical_signal(evidence, best_bm25)
    cosine = max(expected, (1.0 - LEXICAL_WEIGHT) * words) if evidence.cosine is None else evidence.cosine
    return cosine + LEXICAL_WEIGHT * words


def expected_cosines(evidence: Mapping[int, Evidence], best_bm25: float) -> dict[int, float]:
    """The cosine to expect of each passage that has no vector: that of the nearest few that hold no more of the words.

    Nothing is expected where only passages are known that hold more of the question's words.
    """
    unknown = [key for key, e in evidence.items() if e.cosine is None]
    if not unknown:
        return {}
    known = [(e.cosine, lexical_signal(e, best_bm25)) for e in evidence.values() if e.bm25 > 0.0 and e.cosine]
    known.sort(reverse=True)
    expected = {}
    for key in unknown:
        words = lexical_signal(evidence[key], best_bm25)
        nearest = [cosine for cosine, signal in known if signal <= words][:SIMILAR_PASSAGES]
        expected[key] = sum(nearest) / len(nearest) if nearest else 0.0
    return expected


def best_first(scores: Mapping[int, float], newest: Mapping[int, int]) -> list[int]:
    """Keys by falling score; equals by falling age, then by key, so that an order never depends on chance."""
    return sorted(scores, key=lambda key: (-scores[key], -newest.get(key, 0), -key))


def lexical_signal(evidence: Evidence, best_bm25: float) -> float:
    """How well the words match, 0 to 1: the share of the query found, graded by BM25 against the best hit."""
    if evidence.found <= 0.0:
        return 0.0
    grade = evidence.bm25 / best_bm25 if best_bm25 > 0.0 else 0.0
    return min(1.0, evidence.found * (0.5 + 0.5 * min(1.0, grade)))


# Chosen by benchmarks/calibration.py: at BORDER the odds are even, and a tenth more makes them e times better.
RELEVANCE_MIDPOINT, RELEVANCE_STEEPNESS = 0.45, 10.0

# Below these something is noise, not an answer: found by meaning alone, or by a stray word.
NOISE_BORDER, LEXICAL_NOISE_BORDER = 0.15, 0.05
# Among few passages even the nearest stranger is far away: the border of noise rises until there are this many.
NOISE_SAMPLE = 40


def relevance(likeness: float) -> float:
    """The probability that something answers, from all that speaks for it."""
    x = RELEVANCE_STEEPNESS * (likeness - RELEVANCE_MIDPOINT)
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


def is_noise(likeness: float, *, worded: bool, meant: bool, among: int = NOISE_SAMPLE) -> bool:
    """Whether to leave one of `among` candidates out: too far in meaning for the words it shares with the question.

    `worded` tells that words of the question found it, `meant` that its nearness in meaning is known.
    """
    if not meant:
        return not worded
    border = NOISE_BORDER * min(1.0, 0.3 + 0.7 * among / NOISE_SAMPLE)
    return relevance(likeness) < (LEXICAL_NOISE_BORDER if worded else border)
