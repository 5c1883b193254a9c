"""Scoring: BM25 and cosine as one score, what is worth more or less, and how likely a score means an answer.

An answer is often a few words long, and what it is about stands in the question before it: so the turns around a hit
and the rest of its session count for it too. The best hits are then read: does one answer, or does it only ask? Last,
the score becomes a calibrated likelihood, with a border below which a hit is noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

Scores = Mapping[int, float]

# What all the words of a question are worth, compared with a cosine of 1. Measured best between 0.3 and 0.6.
LEXICAL_WEIGHT = 0.4
# The cosine of a passage without a vector is estimated from this many similar ones.
SIMILAR_PASSAGES = 3
# For what is stale.
STALE_FACTOR = 0.5

# The part of a neighbour's score, and of the best one in the session, that counts for a hit: only what is above the
# floor, and at most the cap, so that nothing becomes an answer just by standing next to one.
NEIGHBOUR_BOOST, SESSION_BOOST = 0.1, 0.2
CONTEXT_FLOOR, CONTEXT_CAP = 0.3, 0.5
# The part of a better neighbour's score that counts once the words were compared: what is above the best but this much.
BEST_NEIGHBOUR_BOOST, BEST_NEIGHBOUR_FLOOR = 0.1, 0.4
# For what was said by somebody whom the question names.
SPEAKER_BOOST = 0.2
# For messages of the role that the question is about ("did I", "you suggested"), and against those of the other.
ROLE_BOOST, OTHER_ROLE_PENALTY = 0.1, 0.2
# For what happened at the time that the question names, or shortly after.
TIME_BOOST = 0.15
# What holds now and says since when or until when was said of just this time: it comes before what says no time.
DATED_BOOST = 0.15
# For all words that stand together in the question and in the hit: "checkout app" is no other app.
ADJACENT_BOOST = 0.15
# For the newest of statements whose scores differ by no more than this from the best of them.
NEWER_BOOST, EQUAL_STATEMENTS = 0.15, 0.3
# For an instruction that was given once, for whatever comes later: it seldom resembles what it is about.
RULE_BOOST = 0.2
# Against a text that only repeats the question and has no reply, and the most that it can score.
REPEATED_QUESTION_PENALTY, REPEATED_QUESTION_CAP = 0.4, 0.55
# For the reply to such a text, which then ranks this far behind it.
REPLY_BOOST, REPLY_MARGIN = 0.15, 0.01

# So many of the first are read together with the question: it is most of what a search costs, and more of them make
# the percentages no better.
READ = 4
# Where certainty counts, so many are, and those within this first.
READ_THOROUGHLY, NEAR = 8, 0.4
# What a cross-encoder says of one, between minus the limit and the limit, counts this much; what was not read counts as
# if it had said UNREAD.
ANSWER_WEIGHT, ANSWER_LIMIT, UNREAD = 0.07, 5.0, -2.5

# What a hit is worth for holding what each word of the question asks for, more or less than this. Where that is not
# known, it is about this much by the cosine.
TOKEN_WEIGHT, TOKEN_MIDPOINT = 0.65, 0.5
TOKENS_BY_COSINE, TOKENS_AT_LEAST = 0.92, 0.17

# What counts for a hit besides what it says, and the most that each counts for: importance, from 0 to 10 around the
# middle; trust in who stated it; uses, as many as are enough. Together less than a word of the question more or less.
IMPORTANCE_WEIGHT, TRUST_WEIGHT, USE_WEIGHT = 0.05, 0.03, 0.025
MIDDLE_IMPORTANCE, MIDDLE_TRUST, ENOUGH_USES = 5.0, 0.6, 8.0


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

    Without a vector its cosine is estimated, or is `expected` from similar passages: what was just written has no
    vector yet, and must not rank behind unrelated passages that have one.
    """
    return estimated_cosine(evidence, best_bm25, expected) + LEXICAL_WEIGHT * lexical_signal(evidence, best_bm25)


def estimated_cosine(evidence: Evidence, best_bm25: float, expected: float = 0.0) -> float:
    """The cosine of a passage, or what it may be by its words and by similar passages, where it has no vector."""
    if evidence.cosine is not None:
        return evidence.cosine
    return max(expected, (1.0 - LEXICAL_WEIGHT) * lexical_signal(evidence, best_bm25))


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


@dataclass(frozen=True, slots=True)
class Weight:
    """What is added to the score of a hit for its importance, for who stated it, and for how useful it has been."""

    importance: float = 0.0
    trust: float = 0.0
    use: float = 0.0

    @property
    def total(self) -> float:
        return self.importance + self.trust + self.use


@lru_cache(maxsize=1024)
def hit_weight(importance: float | None, trust: float, uses: float) -> Weight:
    """The weight of a hit. Never used is nothing against it, so that age alone takes nothing away."""
    level = 0.0 if importance is None else (importance - MIDDLE_IMPORTANCE) / MIDDLE_IMPORTANCE
    return Weight(
        IMPORTANCE_WEIGHT * min(max(level, -1.0), 1.0),
        TRUST_WEIGHT * (min(max(trust, 0.0), 1.0) - MIDDLE_TRUST),
        USE_WEIGHT * min(1.0, math.log1p(max(uses, 0.0)) / math.log1p(ENOUGH_USES)),
    )


def boost_by_context(scores: Scores, session_of: Mapping[int, int], next_turn: Mapping[int, int]) -> dict[int, float]:
    """Add part of the scores of neighbouring turns and of the best hit in the same session.

    What is in no session counts as its own session, so that it does not fall behind for being alone.
    """
    spare = {key: min(max(score - CONTEXT_FLOOR, 0.0), CONTEXT_CAP) for key, score in scores.items()}
    boosted = dict(scores)
    for key, after in next_turn.items():
        if key in spare and after in spare:
            boosted[key] += NEIGHBOUR_BOOST * spare[after]
            boosted[after] += NEIGHBOUR_BOOST * spare[key]
    best: dict[int, float] = {}
    for key, session in session_of.items():
        best[session] = max(best.get(session, 0.0), spare.get(key, 0.0))
    for key in scores:
        boosted[key] += SESSION_BOOST * (best[session_of[key]] if key in session_of else spare[key])
    return boosted


def boost_by_neighbours(scores: Scores, next_turn: Mapping[int, int]) -> dict[int, float]:
    """The scores of turns beside one of the best hits, with part of that one's score."""
    floor = max(scores.values(), default=0.0) - BEST_NEIGHBOUR_FLOOR
    neighbours: dict[int, float] = {}
    for key, after in next_turn.items():
        if key in scores and after in scores:
            for one, other in ((key, after), (after, key)):
                neighbours[one] = max(neighbours.get(one, floor), scores[other])
    return {key: scores[key] + BEST_NEIGHBOUR_BOOST * (score - floor) for key, score in neighbours.items()}


def newer_boosts(scores: Scores, created_ms: Mapping[int, int]) -> dict[int, float]:
    """What statements that answer about equally well are worth more for being newer.

    What was stated later about the same thing is more likely what holds.
    """
    best = max((scores[key] for key in created_ms), default=0.0)
    near = {key: ms for key, ms in created_ms.items() if scores[key] >= best - EQUAL_STATEMENTS}
    if len(near) < 2:
        return {}
    order = sorted(near, key=lambda key: (near[key], key))
    return {key: NEWER_BOOST * place / (len(order) - 1) for place, key in enumerate(order)}


def add_token_scores(scores: Scores, similar: Mapping[int, float], cosines: Mapping[int, float]) -> dict[int, float]:
    """The scores of items with how well each holds what the words of the question ask for.

    Of an item without token vectors that is estimated from its cosine, as far off as the estimates of the others are.
    Nothing changes if none has some.
    """
    if not similar:
        return {}
    values = {key: TOKENS_BY_COSINE * cosine + TOKENS_AT_LEAST for key, cosine in cosines.items()}
    off = sum(similar[key] - values[key] for key in similar) / len(similar)
    for key in values:
        values[key] = similar[key] if key in similar else values[key] + off
    return {key: scores[key] + TOKEN_WEIGHT * (value - TOKEN_MIDPOINT) for key, value in values.items()}


def reading_order(scores: Scores) -> tuple[list[int], list[int]]:
    """The candidates to read where certainty counts: those near the best one, and the others, best first."""
    first = best_first(scores, newest={})[:READ_THOROUGHLY]
    near = [key for key in first if scores[key] >= scores[first[0]] - NEAR]
    return near, first[len(near) :]


def add_answer_scores(scores: Scores, answers: Mapping[int, float]) -> dict[int, float]:
    """The scores of items that were read together with the question, with what the cross-encoder says of each."""
    return {
        key: scores[key] + ANSWER_WEIGHT * (min(max(answer, -ANSWER_LIMIT), ANSWER_LIMIT) - UNREAD)
        for key, answer in answers.items()
    }


def prefer_answers(scores: Scores, repeats: Iterable[int], replies: Mapping[int, int]) -> dict[int, float]:
    """The scores that change if `repeats` only repeat the question, and some of them have `replies`.

    A reply scores at least as much as the question that it answers, and the repeated question ranks behind it.
    """
    changed: dict[int, float] = {}
    for question in repeats:
        own = scores[question]
        reply = replies.get(question)
        if reply is None:
            changed[question] = min(own - REPEATED_QUESTION_PENALTY, REPEATED_QUESTION_CAP)
        else:
            changed[reply] = max(changed.get(reply, scores[reply] + REPLY_BOOST), own)
            changed[question] = own - REPLY_MARGIN
    return changed


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


# The odds that a hit answers grow with its score, and fall with that of the best other hit: few questions have two
# answers. Both are fitted on worlds of agents and notes that no model was trained on, where half of the questions were
# asked once more without the lines that answer them (benchmarks/likelihood.py).
LIKELIHOOD_SCORE, LIKELIHOOD_RIVAL = 4.45, -1.07
# Where there are hardly any other hits, the rival counts as much as it mostly does among many.
LEAST_RIVAL = 0.5
# Fitted it is -4.26. But of what people ask of their own memory less than half has no answer, and it is asked in words
# nearer to what they noted: with this, 92 of 100 questions that nothing answers have no hit at 0.5 or more.
LIKELIHOOD_OFFSET = -3.26
# What is stale is half as likely.
STALE_ODDS = math.log(STALE_FACTOR)


def likelihoods(scores: Sequence[float], stale: Sequence[bool]) -> list[float]:
    """How likely hits answer, given the score of each, best first.

    Hits that answer about equally well may stand in another order than that of their scores: the first of them takes
    the highest likelihood, so that these only fall.
    """
    best, second = [*sorted(scores, reverse=True)[:2], 0.0, 0.0][:2]
    found = []
    for score, is_stale in zip(scores, stale, strict=True):
        rival = max(LEAST_RIVAL, second if score == best else best)
        odds = LIKELIHOOD_OFFSET + LIKELIHOOD_SCORE * score + LIKELIHOOD_RIVAL * rival
        found.append(_logistic(odds + STALE_ODDS if is_stale else odds))
    return sorted(found, reverse=True)


def relevance(score: float) -> float:
    """How likely a hit with this score answers the question, from 0 to 1."""
    return _logistic(RELEVANCE_STEEPNESS * (score - RELEVANCE_MIDPOINT))


def _score_at(relevance: float) -> float:
    """The score of a hit that answers this likely."""
    return RELEVANCE_MIDPOINT + math.log(relevance / (1.0 - relevance)) / RELEVANCE_STEEPNESS


def answer_relevance(odds: float) -> float:
    """How likely a hit with these odds answers the question, compared with any of the first hits."""
    return _logistic(odds + ANSWER_PRIOR)


def is_answered(odds: Sequence[float]) -> bool:
    """Whether something among the first hits answers, by the odds of each; of fewer hits fewer answers are expected."""
    return expected_answers(odds) >= EXPECTED_ANSWERS * min(1.0, max(LEAST_FULL, len(odds) / JUDGED))


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
    """The score below which a candidate is noise: of one found by meaning alone, and of one that shares words."""

    by_meaning: float
    by_words: float


def noise_borders(among: int = NOISE_SAMPLE, *, answered: bool = False) -> NoiseBorders:
    """The borders for each of so many candidates. `answered`: something else answers."""
    by_meaning, by_words = NOISE_BORDER, LEXICAL_NOISE_BORDER
    if answered:
        by_meaning, by_words = ANSWERED_NOISE_BORDER, ANSWERED_LEXICAL_NOISE_BORDER
    return NoiseBorders(_score_at(by_meaning * min(1.0, 0.3 + 0.7 * among / NOISE_SAMPLE)), _score_at(by_words))


def is_noise(score: float, borders: NoiseBorders, *, has_words: bool, has_cosine: bool) -> bool:
    """Whether to drop a candidate: too far in meaning for the words it shares with the question.

    `has_words`: words of the question found it. `has_cosine`: its cosine is known.
    """
    if not has_cosine:
        return not has_words
    return score < (borders.by_words if has_words else borders.by_meaning)


def is_noise_when_judged(relevance: float, *, has_words: bool, answered: bool) -> bool:
    """Whether to drop what was judged by more than its score, for what came out; `answered`: something answers."""
    if answered:
        return relevance < (JUDGED_LEXICAL_NOISE_BORDER if has_words else JUDGED_NOISE_BORDER)
    return relevance < (UNANSWERED_LEXICAL_NOISE_BORDER if has_words else UNANSWERED_NOISE_BORDER)
