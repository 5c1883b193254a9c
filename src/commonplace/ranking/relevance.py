"""Relevance: the score of a hit as a calibrated likelihood that it answers, and the border below which it is noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# At the midpoint the odds are even, and a tenth more makes them e times better (benchmarks/calibration.py).
RELEVANCE_MIDPOINT, RELEVANCE_STEEPNESS = 0.45, 10.0
# The odds that a hit answers grow with how well it holds what the words of the question ask for and with its cosine;
# for one that was read together with the question less, and with what the cross-encoder says of it. Without token
# vectors, the cosine has to do. All fitted on worlds that no model was trained on (benchmarks/calibration.py).
TOKEN_SLOPE, TOKEN_COSINE, TOKEN_OFFSET = 7.36, 5.55, -7.17
READ_TOKEN_SLOPE, READ_COSINE, READ_ANSWER_SLOPE, READ_OFFSET = 4.6, 1.72, 0.415, -4.32
ANSWER_SLOPE, ANSWER_COSINE, ANSWER_OFFSET = 0.465, 4.0, -2.76
# One in ten of the first hits answers, on average: the relevance of a hit is even at these odds.
ANSWER_PRIOR = 2.2
# Of the first ten hits so many answers are expected, if anything answers: 95 of 100 questions with an answer have more.
# Of fewer hits fewer are, but at least this share of it.
EXPECTED_ANSWERS, JUDGED, LEAST_FULL = 0.32, 10, 0.5
# Between these, token vectors alone leave it open whether anything answers.
UNSURE = 0.1, 0.6
# If something answers, further hits are more likely part of the answer: their odds are better by this factor, e to its
# power. Without it 0.5 would keep 86 % of the answers among the first ten in worlds kept apart, with it 91 %.
ANSWERED_ODDS = 0.6
# Otherwise this is the most that any hit can have.
UNANSWERED_RELEVANCE = 0.45

# Below these a hit is noise, not an answer: found by meaning alone, or by a stray word.
NOISE_BORDER, LEXICAL_NOISE_BORDER = 0.15, 0.05
# Among few passages even the nearest unrelated one is far away: the border rises until there are this many.
NOISE_SAMPLE = 40
# The same for what was not read, if something that was read answers: more of the answer may be there.
ANSWERED_NOISE_BORDER, ANSWERED_LEXICAL_NOISE_BORDER = 0.06, 0.02
# The same for what was judged by more than its score, if something answers and if nothing does.
JUDGED_NOISE_BORDER, JUDGED_LEXICAL_NOISE_BORDER = 0.075, 0.04
UNANSWERED_NOISE_BORDER, UNANSWERED_LEXICAL_NOISE_BORDER = 0.15, 0.05


def relevance(score: float) -> float:
    """How likely a hit with this score answers the question, from 0 to 1."""
    return _logistic(RELEVANCE_STEEPNESS * (score - RELEVANCE_MIDPOINT))


def answer_relevance(odds: float) -> float:
    """How likely a hit with these odds answers the question, compared with any of the first hits."""
    return _logistic(odds + ANSWER_PRIOR)


def is_answered(odds: Sequence[float]) -> bool:
    """Whether something among the first hits answers, by the odds of each."""
    return expected_answers(odds) >= EXPECTED_ANSWERS * max(LEAST_FULL, _fullness(odds))


def is_unsure(odds: Sequence[float]) -> bool:
    """Whether it is open if something among the first hits answers, so that reading them helps."""
    return UNSURE[0] * _fullness(odds) < expected_answers(odds) < UNSURE[1]


def is_surely_answered(odds: Sequence[float]) -> bool:
    """Whether something among the first that were read answers, whatever the others say: no more need be read."""
    return expected_answers(odds) >= EXPECTED_ANSWERS


def _fullness(odds: Sequence[float]) -> float:
    """How much of what is usually judged there is: of fewer hits, fewer answers are expected."""
    return min(1.0, len(odds) / JUDGED)


def expected_answers(odds: Sequence[float]) -> float:
    """How many of the hits with these odds may answer. Many weak signs count as one strong."""
    return sum(map(_logistic, odds))


def token_odds(similar: float, cosine: float, answer: float | None = None) -> float:
    """The log-odds that a hit answers, by its token vectors, its cosine and, if it was read, what came out."""
    if answer is None:
        return TOKEN_SLOPE * similar + TOKEN_COSINE * cosine + TOKEN_OFFSET
    return READ_TOKEN_SLOPE * similar + READ_COSINE * cosine + READ_ANSWER_SLOPE * answer + READ_OFFSET


def answer_odds(answer: float, cosine: float) -> float:
    """The log-odds that something answers which was read, by what the cross-encoder says of it and its cosine."""
    return ANSWER_SLOPE * answer + ANSWER_COSINE * cosine + ANSWER_OFFSET


def relevances_in_order(
    by_score: Sequence[float], by_reading: Sequence[float | None], *, answered: bool | None
) -> list[float]:
    """Relevances of hits in their order, none higher than one before it.

    What was judged (`by_reading`) counts for what came out, and lifts what stands before it. Nothing is more relevant
    than the best of these: if that answers nothing, nothing does. `answered` is None if nothing was judged.
    """
    limit = max((value for value in by_reading if value is not None), default=1.0)
    if answered is False:
        limit = min(limit, UNANSWERED_RELEVANCE)
    result: list[float] = []
    highest = 0.0
    for score, reading in zip(reversed(by_score), reversed(by_reading), strict=True):
        highest = max(highest, min(score if reading is None else reading, limit))
        result.append(with_better_odds(highest, ANSWERED_ODDS) if answered else highest)
    return result[::-1]


def with_better_odds(share: float, factor: float) -> float:
    """A likelihood whose odds are e to the power of the factor times better."""
    return share if share in (0.0, 1.0) else _logistic(math.log(share / (1.0 - share)) + factor)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


class NoiseBorders(NamedTuple):
    """The relevance below which a candidate is noise: one found by meaning alone, and one that shares words."""

    by_meaning: float
    by_words: float


def noise_borders(among: int = NOISE_SAMPLE, *, answered: bool = False) -> NoiseBorders:
    """The borders for each of so many candidates. `answered`: something else answers."""
    by_meaning, by_words = NOISE_BORDER, LEXICAL_NOISE_BORDER
    if answered:
        by_meaning, by_words = ANSWERED_NOISE_BORDER, ANSWERED_LEXICAL_NOISE_BORDER
    return NoiseBorders(by_meaning * min(1.0, 0.3 + 0.7 * among / NOISE_SAMPLE), by_words)


def is_noise(score: float, borders: NoiseBorders, *, has_words: bool, has_cosine: bool) -> bool:
    """Whether to drop a candidate: too far in meaning for the words it shares with the question.

    `has_words`: words of the question found it. `has_cosine`: its cosine is known.
    """
    if not has_cosine:
        return not has_words
    return relevance(score) < (borders.by_words if has_words else borders.by_meaning)


def is_noise_when_judged(relevance: float, *, has_words: bool, answered: bool) -> bool:
    """Whether to drop what was judged by more than its score, for what came out; `answered`: something answers."""
    if answered:
        return relevance < (JUDGED_LEXICAL_NOISE_BORDER if has_words else JUDGED_NOISE_BORDER)
    return relevance < (UNANSWERED_LEXICAL_NOISE_BORDER if has_words else UNANSWERED_NOISE_BORDER)
