"""Score fusion: BM25 and cosine into one score, the score into a calibrated relevance, and the border of noise.

A context has signals, weights and a token budget of its own: those of the Kiro reference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.text.dates import DAY_MS

# What all the words of a question are worth, compared with a cosine of 1. Measured best between 0.3 and 0.6.
LEXICAL_WEIGHT = 0.4
# The cosine of a passage without a vector is estimated from this many similar ones.
SIMILAR_PASSAGES = 3
# Of the entries of a context.
HALF_LIFE_DAYS = 7.0
KNOWLEDGE_BOOST = 3.0
STALE_FACTOR = 0.5
SAME_PROJECT, OTHER_PROJECT = 1.0, 0.5


class Evidence(NamedTuple):
    """What is known of one passage: BM25 (0 if no word matched), cosine (None if unknown), share of the words found."""

    bm25: float = 0.0
    cosine: float | None = None
    found: float = 0.0

    @property
    def semantic(self) -> float:
        """The cosine as a signal: 0 where it is unknown or negative."""
        return max(0.0, self.cosine or 0.0)


def fused_score(evidence: Evidence, best_bm25: float, expected: float = 0.0) -> float:
    """The score of a passage, on a scale that is the same for every question.

    Without a vector, the cosine is estimated from the words, or is `expected` from similar passages: what was just
    written has no vector yet, and must not rank behind unrelated passages that have one.
    """
    words = lexical_signal(evidence, best_bm25)
    cosine = max(expected, (1.0 - LEXICAL_WEIGHT) * words) if evidence.cosine is None else evidence.cosine
    return cosine + LEXICAL_WEIGHT * words


def expected_cosines(evidence: Mapping[int, Evidence], best_bm25: float) -> dict[int, float]:
    """An estimated cosine for each passage without a vector: that of the nearest few that match no more of the words.

    It is 0 where all known passages match more of the question's words, and absent where none is known.
    """
    unknown = [key for key, e in evidence.items() if e.cosine is None]
    if not unknown:
        return {}
    known = [(e.cosine, lexical_signal(e, best_bm25)) for e in evidence.values() if e.bm25 > 0.0 and e.cosine]
    if not known:
        return {}
    known.sort(reverse=True)
    expected = {}
    for key in unknown:
        words = lexical_signal(evidence[key], best_bm25)
        nearest = [cosine for cosine, signal in known if signal <= words][:SIMILAR_PASSAGES]
        expected[key] = sum(nearest) / len(nearest) if nearest else 0.0
    return expected


def best_first(scores: Mapping[int, float], newest: Mapping[int, int]) -> list[int]:
    """Keys by falling score; equal ones newest first, then by key, so that the order is always the same."""
    # One sort after the other, each by a function in C: sorting keeps the order of what is equal.
    keys = sorted(scores, reverse=True)
    if newest:
        known = newest.keys() >= scores.keys()
        keys.sort(key=newest.__getitem__ if known else lambda key: newest.get(key, 0), reverse=True)
    keys.sort(key=scores.__getitem__, reverse=True)
    return keys


def lexical_signal(evidence: Evidence, best_bm25: float) -> float:
    """How well the words match, 0 to 1: the share of the query found, graded by BM25 against the best hit."""
    if evidence.found <= 0.0:
        return 0.0
    grade = evidence.bm25 / best_bm25 if best_bm25 > 0.0 else 0.0
    return min(1.0, evidence.found * (0.5 + 0.5 * min(1.0, grade)))


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


@dataclass(frozen=True, slots=True)
class Signals:
    """What the score of an entry of a context is made of, each between 0 and 1."""

    semantic: float
    fts5: float
    recency: float
    project_match: float


def recency_score(created_ms: int, now_ms: int, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """1 now, 1/2 after a half-life, towards 0; a time in the future counts as now."""
    age_days = max(0, now_ms - created_ms) / DAY_MS
    return math.exp2(-age_days / half_life_days)


def composite_score(signals: Signals, *, with_query: bool) -> float:
    """One number from four: 45/35/10/10 with a query, recency and project 70/30 without."""
    if with_query:
        return 0.45 * signals.semantic + 0.35 * signals.fts5 + 0.10 * signals.recency + 0.10 * signals.project_match
    return 0.70 * signals.recency + 0.30 * signals.project_match


def context_order_key(score: float, *, knowledge: bool, stale: bool = False) -> tuple[bool, float]:
    """Larger comes first. Knowledge counts three times its score and precedes everything else; what is stale sinks."""
    return (knowledge, score * (KNOWLEDGE_BOOST if knowledge else 1.0) * (STALE_FACTOR if stale else 1.0))


class TokenBudget:
    """A number of tokens, spent entry by entry. What does not fit is left out; smaller entries may still follow."""

    def __init__(self, tokens: int, spent: int = 0) -> None:
        self.tokens, self.spent = tokens, spent

    def spend(self, cost: int, share: float = 1.0) -> bool:
        """Spend `cost` if the whole then stays within `share` of the budget."""
        if not self.fits(cost, share):
            return False
        self.spent += cost
        return True

    def fits(self, cost: int, share: float = 1.0) -> bool:
        return cost >= 0 and self.spent + cost <= self.tokens * share
