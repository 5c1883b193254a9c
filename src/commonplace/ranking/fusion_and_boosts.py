"""Scores: BM25 and cosine fused into one; boosts and penalties for what surrounds a hit and what it says.

An answer is often a few words long, and what it is about stands in the question before it: so the turns around a hit
and the rest of its session count for it too. The best hits are then read: does one answer, or does it only ask?
Near-duplicates are dropped.
"""

from __future__ import annotations

import math
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Generic, NamedTuple, TypeVar

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
# For all words that stand together in the question and in the hit: "checkout app" is no other app.
ADJACENT_BOOST = 0.15
# For the newest of statements whose scores differ by no more than this from the best of them.
NEWER_BOOST, EQUAL_STATEMENTS = 0.15, 0.3
# For a hit that tells just the attribute that is asked for, of what is asked about, and for the latest of them.
ATTRIBUTE_BOOST, LATEST_BOOST = 0.3, 0.15
# For an instruction that was given once, for whatever comes later: it seldom resembles what it is about.
RULE_BOOST = 0.2
# Against a question to somebody else: it has the words of the answer, but not the answer.
QUESTION_PENALTY = 0.1
# Against a text that only repeats the question and has no reply, and the most that it can score.
REPEATED_QUESTION_PENALTY, REPEATED_QUESTION_CAP = 0.4, 0.55
# For the reply to such a text, which then ranks this far behind it.
REPLY_BOOST, REPLY_MARGIN = 0.15, 0.01

# So many of the first are read together with the question, if their scores are so close to the best one that reading
# may change which comes first: it is most of what a search costs. So many are if it is open whether anything answers.
READ_CLOSE, CLOSE, READ_UNSURE = 4, 0.2, 5
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


def boost_by_role(scores: Scores, same_role: Collection[int], other_role: Collection[int]) -> dict[int, float]:
    """Raise messages of the role that the question is about, and lower those of the other."""
    boost = dict.fromkeys(same_role, ROLE_BOOST) | dict.fromkeys(other_role, -OTHER_ROLE_PENALTY)
    return {key: score + boost.get(key, 0.0) for key, score in scores.items()}


def boost_by_speaker(scores: Scores, by_named: Collection[int]) -> dict[int, float]:
    """Raise what was said by those whom the question names, unless they said everything."""
    named = scores.keys() & set(by_named)
    boost = SPEAKER_BOOST if len(named) < len(scores) else 0.0
    return {key: score + (boost if key in named else 0.0) for key, score in scores.items()}


def boost_by_adjacent_words(scores: Scores, shares: Mapping[int, float]) -> dict[int, float]:
    """The scores of hits with the share of the question's adjacent words that are adjacent in each of them too."""
    return {key: scores[key] + ADJACENT_BOOST * share for key, share in shares.items()}


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


def attribute_boosts(since_ms: Mapping[int, int]) -> dict[int, float]:
    """What hits are worth more that tell what is asked for, each by the moment from which on it does; the latest most.

    An attribute has one value at a time.
    """
    latest = max(since_ms.values(), default=0)
    return {key: ATTRIBUTE_BOOST + LATEST_BOOST * (ms == latest) for key, ms in since_ms.items()}


def rerank_score(score: float, *, nearness: float, question_ratio: float) -> float:
    """The score of a hit once it was read; `nearness` in time and the share that is questions are from 0 to 1."""
    return score + TIME_BOOST * nearness - QUESTION_PENALTY * question_ratio


def add_token_scores(scores: Scores, similar: dict[int, float], cosines: Mapping[int, float]) -> dict[int, float]:
    """The scores of items with how well each holds what the words of the question ask for.

    Of an item without token vectors that is estimated from its cosine. Nothing changes if none has some.
    """
    if not similar:
        return {}
    expected = {key: TOKENS_BY_COSINE * cosine + TOKENS_AT_LEAST for key, cosine in cosines.items()}
    return {key: scores[key] + TOKEN_WEIGHT * (value - TOKEN_MIDPOINT) for key, value in (expected | similar).items()}


def worth_reading(scores: Scores, *, unsure: bool) -> list[int]:
    """The candidates to read together with the question: the first, and those that may be better.

    If it is open whether anything answers, the first few. None if the first is better than all.
    """
    first = best_first(scores, newest={})[:READ_UNSURE]
    close = [key for key in first[:READ_CLOSE] if scores[key] >= scores[first[0]] - CLOSE]
    return first if unsure else close if len(close) > 1 else []


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


# From this share of common words two texts are the same, and from this one they are similar.
SAME_TEXT, SIMILAR_TEXT = 0.9, 0.7
# The sets of words of so many texts of at most so many characters are kept, as long as they have no more words.
MOST_SETS, SHORT_ENOUGH, MOST_WORDS = 2_048, 2_000, 8_192

_T = TypeVar("_T")
_WORD = re.compile(r"\w+")


class _Vocabulary:
    """Words by their numbers, and the sets of texts that were read lately.

    Words are numbered as they appear, so that the highest numbers of a set are its rarest words, because common ones
    come early. A set is an integer with a bit for each word, which is compared much faster than a set.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sets: dict[str, _WordSet] = {}
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        return len(self._numbers) > MOST_WORDS or len(self._sets) > MOST_SETS

    def words_in(self, text: str) -> _WordSet:
        known = self._sets.get(text)
        if known is None:
            words = dict.fromkeys(_WORD.findall(text.lower()))
            numbers = self._numbers
            with self._lock:
                mine = sorted([numbers.setdefault(word, len(numbers)) for word in words], reverse=True)
            known = _WordSet(_bits(mine), len(mine), mine or [-1])
            if len(text) <= SHORT_ENOUGH:
                self._sets[text] = known
        return known


def _bits(falling: Sequence[int]) -> int:
    """An integer with these bits, the highest first."""
    held = bytearray((falling[0] >> 3) + 1) if falling else bytearray()
    for number in falling:
        held[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(held, "little")


_vocabulary = _Vocabulary()


def _shared_vocabulary() -> _Vocabulary:
    """The one of this process: what one question reads, the next finds read. A new one is begun when it is full."""
    global _vocabulary
    if _vocabulary.is_full:
        _vocabulary = _Vocabulary()
    return _vocabulary


class WordSets(Generic[_T]):
    """The sets of words of items, each read once. `text` is what an item says, and `key` what it is known by."""

    def __init__(self, text: Callable[[_T], str], key: Callable[[_T], Hashable] | None = None) -> None:
        self._text, self._key = text, key or text
        self._vocabulary = _shared_vocabulary()
        self._known: dict[Hashable, _WordSet] = {}

    def of(self, item: _T) -> _WordSet:
        key = self._key(item)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._vocabulary.words_in(self._text(item))
        return known


class _WordSet(NamedTuple):
    bits: int
    size: int
    falling: list[int]

    def rarest(self, same: float) -> list[int]:
        """So many words that a set which is the same up to this share holds one of them."""
        return self.falling[: self.size - ceil(same * self.size) + 1]

    def is_like(self, other: _WordSet, same: float) -> bool:
        shared = (self.bits & other.bits).bit_count()
        return shared >= same * (self.size + other.size - shared)


def drop_near_duplicates(items: Iterable[_T], sets: WordSets[_T], same: float = SAME_TEXT) -> list[_T]:
    """Items in order, without those with almost the same words as an earlier one."""
    distinct_items: list[_T] = []
    holding: defaultdict[int, list[_WordSet]] = defaultdict(list)
    for item in items:
        words = sets.of(item)
        rarest = words.rarest(same)
        others = [other for number in rarest if number in holding for other in holding[number]]
        if not any(words.is_like(other, same) for other in others):
            distinct_items.append(item)
            for number in rarest:
                holding[number].append(words)
    return distinct_items


def first_per_key(items: Iterable[_T], keys: Callable[[_T], Collection[Hashable]]) -> list[_T]:
    """Items in order, without those that have a key in common with an earlier one; those without keys all stay."""
    distinct_items: list[_T] = []
    seen: set[Hashable] = set()
    for item in items:
        names = keys(item)
        if seen.isdisjoint(names):
            distinct_items.append(item)
            seen.update(names)
    return distinct_items


def group_near_duplicates(items: Sequence[_T], sets: WordSets[_T], same: float = SIMILAR_TEXT) -> list[list[_T]]:
    """Groups of two and more with nearly the same words as their first, in the order of the items."""
    words = [sets.of(item) for item in items]
    sizes = [one.size for one in words]
    groups: list[list[_T]] = []
    taken: set[int] = set()
    for first, own in enumerate(words):
        if first in taken:
            continue
        # Sets of very different sizes cannot be alike.
        least, size = same * own.size, own.size
        near = [n for n in range(first + 1, len(items)) if least <= sizes[n] and same * sizes[n] <= size]
        alike = [first, *(n for n in near if n not in taken and own.is_like(words[n], same))]
        taken.update(alike)
        if len(alike) > 1:
            groups.append([items[n] for n in alike])
    return groups
