"""How likely is this passage an answer? One calibrated number between 0 and 1, the same in every reply."""

from __future__ import annotations

import math

from commonplace.ranking.fusion import Evidence

# A logistic model of two facts: how near in meaning, and how much of the question's words stands there.
# Fitted on dialogues and coding chats against questions about something else; see benchmarks/calibration.py.
INTERCEPT, COSINE, FOUND = -4.2, 8.0, 2.6
# Without a vector only the words speak.
WORDS_INTERCEPT, WORDS_FOUND = -2.6, 5.2

# Below this a passage found by meaning alone is noise, not an answer.
NOISE = 0.25


def relevance(evidence: Evidence) -> float:
    """The probability that the passage answers, from its evidence."""
    if evidence.cosine is None:
        return _logistic(WORDS_INTERCEPT + WORDS_FOUND * evidence.found)
    return _logistic(INTERCEPT + COSINE * evidence.cosine + FOUND * evidence.found)


def is_noise(evidence: Evidence) -> bool:
    """Whether to leave a candidate out of an answer: no word of the question, and too far in meaning."""
    return evidence.bm25 <= 0.0 and relevance(evidence) < NOISE


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))
