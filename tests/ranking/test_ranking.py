"""Numbers in, numbers out: bounds, directions and exact weights of everything that orders, scores or cuts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.memory.context import (
    Signals,
    TokenBudget,
    composite_score,
    context_order_key,
    recency_score,
)
from commonplace.model import KNOWLEDGE_TYPES
from commonplace.ranking.scoring import (
    LEXICAL_WEIGHT,
    RELEVANCE_MIDPOINT,
    Evidence,
    add_token_scores,
    answer_relevance,
    best_first,
    boost_by_neighbours,
    expected_cosines,
    fused_score,
    is_answered,
    is_noise,
    lexical_signal,
    likelihoods,
    noise_borders,
    relevance,
    relevances_in_order,
    token_odds,
)
from commonplace.text.near_duplicates import WordSets, drop_near_duplicates, first_per_key, group_near_duplicates
from commonplace.text.tokens import estimate_tokens

DAY = 86_400_000
NOW = 1_742_049_000_000

share = st.floats(0, 1)
cosine = st.floats(-1, 1)
bm25 = st.floats(0, 100)
evidences = st.builds(Evidence, bm25=bm25, cosine=st.one_of(st.none(), cosine), found=share)
signals = st.builds(Signals, share, share, share, share)
# Never so close that rounding decides.
steps = st.integers(0, 1000).map(lambda n: n / 1000)


# Relevance.


def noise(evidence: Evidence, among: int = 40) -> bool:
    """As recall asks it, of the only candidate that words may have found."""
    x = fused_score(evidence, evidence.bm25)
    return is_noise(x, noise_borders(among), has_words=evidence.bm25 > 0.0, has_cosine=evidence.cosine is not None)


def likely(evidence: Evidence) -> float:
    return relevance(fused_score(evidence, evidence.bm25))


@given(st.floats(-1, 2.2))
def test_relevance_is_a_probability(x: float) -> None:
    assert 0.0 < relevance(x) < 1.0


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_more_that_speaks_for_it_is_never_less_relevant(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert relevance(low) <= relevance(high)


def test_the_border_of_a_half_parts_answers_from_noise() -> None:
    assert relevance(RELEVANCE_MIDPOINT) == 0.5
    assert likely(Evidence(5.0, 0.8, 1.0)) > 0.9
    assert likely(Evidence(5.0, None, 1.0)) > 0.5
    assert likely(Evidence(0.0, 0.6, 0.0)) > 0.5
    assert likely(Evidence(0.0, 0.1, 0.0)) < 0.1
    assert likely(Evidence(0.0, 0.0, 0.0)) < 0.05
    assert likely(Evidence(0.0, None, 0.0)) < 0.1


@given(cosine, cosine, share, bm25)
def test_what_is_noise_stays_noise_further_away(a: float, b: float, found: float, score: float) -> None:
    low, high = sorted((a, b))
    if noise(Evidence(score, high, found)):
        assert noise(Evidence(score, low, found))


def test_a_hit_by_words_is_no_noise_when_nothing_is_known_of_its_meaning() -> None:
    assert not noise(Evidence(bm25=0.1, found=0.01))
    assert noise(Evidence())
    assert noise(Evidence(cosine=0.05))


@given(st.floats(-1, 1), st.integers(0, 1000))
def test_a_crowd_makes_noise_of_more(cosine: float, among: int) -> None:
    if noise(Evidence(cosine=cosine), among):
        assert noise(Evidence(cosine=cosine), among + 1)
    assert not noise(Evidence(cosine=0.2), 5) and noise(Evidence(cosine=0.2), 100)
    assert not noise(Evidence(cosine=0.9))


# Relevance.


def test_what_was_read_lifts_what_stands_before_it_and_limits_everything() -> None:
    assert relevances_in_order([0.8, 0.6, 0.2], [0.3, 0.9, 0.1], answered=None) == [0.9, 0.9, 0.1]
    assert relevances_in_order([0.8, 0.6, 0.2], [0.3, 0.1, None], answered=None) == [0.3, 0.2, 0.2]
    assert relevances_in_order([0.8, 0.6], [None, None], answered=None) == [0.8, 0.6]
    assert relevances_in_order([], [], answered=None) == []


def test_if_something_answers_further_hits_are_more_likely_part_of_it() -> None:
    plain = relevances_in_order([0.8, 0.6, 0.2], [0.7, 0.4, None], answered=None)
    better = relevances_in_order([0.8, 0.6, 0.2], [0.7, 0.4, None], answered=True)
    assert all(more > value for more, value in zip(better, plain, strict=True)) and better[0] < 1.0
    assert better == sorted(better, reverse=True) and better[1] > 0.5 > plain[1]
    assert relevances_in_order([1.0, 0.0], [None, None], answered=True) == [1.0, 0.0]


def test_if_nothing_answers_no_hit_is_likely_to() -> None:
    assert relevances_in_order([0.8, 0.6], [0.7, None], answered=False) == [0.45, 0.45]


@given(st.lists(st.tuples(st.floats(0, 1), st.none() | st.floats(0, 1))))
def test_relevances_fall_and_the_first_has_what_reading_said_of_the_best(
    hits: list[tuple[float, float | None]],
) -> None:
    result = relevances_in_order([score for score, _ in hits], [reading for _, reading in hits], answered=None)
    assert result == sorted(result, reverse=True)
    readings = [reading for _, reading in hits if reading is not None]
    assert not readings or result[0] == max(readings)


@given(st.lists(st.floats(-10, 10), min_size=1), st.floats(0, 5))
def test_a_better_reading_never_makes_an_answered_question_unanswered(odds: list[float], more: float) -> None:
    if is_answered(odds):
        first, *others = odds
        assert is_answered([first + more, *others])


def test_many_weak_signs_count_as_one_strong_one() -> None:
    weak, strong, nothing = token_odds(0.45, 0.2), token_odds(0.65, 0.4), token_odds(0.1, 0.0)
    assert not is_answered([weak] + [nothing] * 9)
    assert is_answered([weak] * 10)
    assert is_answered([strong] + [nothing] * 9)


@given(st.lists(st.tuples(st.floats(-1, 2), st.booleans())))
def test_likelihoods_only_fall(hits: list[tuple[float, bool]]) -> None:
    likely = likelihoods([score for score, _stale in hits], [stale for _score, stale in hits])
    assert len(likely) == len(hits) and likely == sorted(likely, reverse=True)
    assert all(0.0 < share < 1.0 for share in likely)


@given(st.floats(0, 2), st.floats(0, 2), st.floats(0, 2))
def test_a_better_rival_makes_a_hit_less_likely(score: float, a: float, b: float) -> None:
    low, high = sorted((a, b))

    def of_the_first(rival: float) -> float:
        both = likelihoods([score, rival], [False, False])
        return both[0] if score >= rival else both[1]

    assert of_the_first(low) >= of_the_first(high)


def test_what_is_stale_is_less_likely() -> None:
    assert likelihoods([1.0], [True])[0] < likelihoods([1.0], [False])[0]


@given(st.floats(-1, 1), st.floats(-1, 1), st.none() | st.floats(-10, 10))
def test_a_better_answer_is_more_relevant(a: float, b: float, answer: float | None) -> None:
    low, high = sorted((a, b))
    assert 0.0 < answer_relevance(token_odds(low, 0.2, answer)) <= answer_relevance(token_odds(high, 0.2, answer)) < 1.0


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(-1, 1))
def test_what_is_read_as_a_better_answer_is_one(a: float, b: float, similar: float) -> None:
    low, high = sorted((a, b))
    assert token_odds(similar, 0.2, low) <= token_odds(similar, 0.2, high)


# Token vectors.


def test_what_holds_the_words_of_the_question_gains_and_what_has_no_token_vectors_is_estimated() -> None:
    scores = {1: 0.5, 2: 0.5, 3: 0.5}
    changed = add_token_scores(scores, {1: 0.9, 2: 0.1}, {1: 0.4, 2: 0.4, 3: 0.4})
    assert changed[1] > changed[3] > changed[2]
    assert add_token_scores(scores, {}, {1: 0.4}) == {}


def test_what_stands_beside_one_of_the_best_gains_and_nothing_else_does() -> None:
    changed = boost_by_neighbours({1: 1.0, 2: 0.1, 3: 0.5, 4: 0.5, 5: 0.5}, {1: 2, 2: 3, 4: 6, 7: 5})
    assert changed[2] > 0.1 and changed[1] == 1.0
    assert changed.keys() <= {1, 2, 3} and changed[3] == 0.5
    # A better neighbour never takes anything away, and never makes one the best.
    assert boost_by_neighbours({1: 1.0, 2: 0.99}, {1: 2})[2] < boost_by_neighbours({1: 1.0, 2: 0.99}, {1: 2})[1]
    assert boost_by_neighbours({}, {1: 2}) == {}


# Fusion.


@given(cosine, cosine, share, share, bm25, bm25, bm25)
def test_better_in_both_is_never_behind(
    near: float, nearer: float, few: float, more: float, low: float, high: float, best: float
) -> None:
    near, nearer = sorted((near, nearer))
    few, more = sorted((few, more))
    low, high = sorted((low, high))
    assert fused_score(Evidence(low, near, few), best) <= fused_score(Evidence(high, nearer, more), best)
    assert fused_score(Evidence(low, None, few), best) <= fused_score(Evidence(high, None, more), best)


@given(evidences, bm25, st.floats(0.1, 50))
def test_likeness_does_not_depend_on_the_scale_of_bm25(evidence: Evidence, best: float, factor: float) -> None:
    scaled = Evidence(evidence.bm25 * factor, evidence.cosine, evidence.found)
    assert fused_score(scaled, best * factor) == pytest.approx(fused_score(evidence, best), abs=1e-9)


def test_without_any_vector_the_words_decide_alone() -> None:
    assert fused_score(Evidence(8.0, None, 1.0), 8.0) == 1.0
    assert fused_score(Evidence(4.0, None, 1.0), 8.0) == 0.75
    assert fused_score(Evidence(), 8.0) == 0.0


def test_words_and_meaning_add_up() -> None:
    assert fused_score(Evidence(0.0, 0.4, 0.0), 8.0) == pytest.approx(0.4)
    assert fused_score(Evidence(8.0, 0.4, 0.5), 8.0) == pytest.approx(0.4 + LEXICAL_WEIGHT * 0.5)
    assert fused_score(Evidence(0.0, -0.4, 0.0), 0.0) == pytest.approx(-0.4)


def test_what_was_just_written_and_holds_the_words_stands_before_strangers_with_a_vector() -> None:
    words = fused_score(Evidence(bm25=4.0, found=1.0), 4.0)
    assert words > fused_score(Evidence(cosine=0.27), 4.0) > fused_score(Evidence(cosine=0.2), 4.0)


@given(st.dictionaries(st.integers(1, 50), steps, max_size=12))
def test_the_order_does_not_depend_on_the_order_of_the_candidates(scores: dict[int, float]) -> None:
    newest = {key: key * 7 % 5 for key in scores}
    assert best_first(scores, newest) == best_first(dict(reversed(scores.items())), newest)


def test_equals_are_ordered_by_birth_then_by_key() -> None:
    assert best_first({1: 0.5, 2: 0.5, 3: 0.5, 4: 0.9}, {1: 10, 2: 30, 3: 10}) == [4, 2, 3, 1]


@given(evidences, bm25)
def test_the_lexical_signal_is_bounded_by_what_was_found(evidence: Evidence, best: float) -> None:
    signal = lexical_signal(evidence, best)
    assert 0.0 <= signal <= min(1.0, evidence.found) + 1e-12


def test_the_lexical_signal_of_the_best_hit_with_every_word_is_one() -> None:
    assert lexical_signal(Evidence(7.0, None, 1.0), 7.0) == 1.0
    assert lexical_signal(Evidence(7.0, None, 0.0), 7.0) == 0.0
    assert lexical_signal(Evidence(0.0, None, 1.0), 0.0) == 0.5


# The four signals.


def test_recency_halves_every_seven_days() -> None:
    for weeks in range(12):
        assert recency_score(NOW - weeks * 7 * DAY, NOW) == pytest.approx(0.5**weeks, rel=1e-12)
    assert recency_score(NOW, NOW) == 1.0
    assert recency_score(NOW + 99 * DAY, NOW) == 1.0


@given(st.integers(0, 40_000 * DAY), st.integers(0, 40_000 * DAY))
def test_older_is_never_more_recent(a: int, b: int) -> None:
    young, old = sorted((a, b))
    assert 0.0 <= recency_score(NOW - old, NOW) <= recency_score(NOW - young, NOW) <= 1.0


@pytest.mark.parametrize(
    ("given_", "with_query", "without"),
    [
        (Signals(1, 0, 0, 0), 0.45, 0.0),
        (Signals(0, 1, 0, 0), 0.35, 0.0),
        (Signals(0, 0, 1, 0), 0.10, 0.70),
        (Signals(0, 0, 0, 1), 0.10, 0.30),
        (Signals(1, 1, 1, 1), 1.0, 1.0),
        (Signals(0, 0, 0, 0), 0.0, 0.0),
    ],
)
def test_the_weights_are_those_of_the_reference(given_: Signals, with_query: float, without: float) -> None:
    assert composite_score(given_, with_query=True) == pytest.approx(with_query, abs=1e-12)
    assert composite_score(given_, with_query=False) == pytest.approx(without, abs=1e-12)


@given(signals, st.booleans())
def test_a_composite_is_bounded(four: Signals, with_query: bool) -> None:
    assert 0.0 <= composite_score(four, with_query=with_query) <= 1.0 + 1e-12


@given(share, share, st.booleans(), st.booleans())
def test_knowledge_stands_before_everything_else(a: float, b: float, stale_a: bool, stale_b: bool) -> None:
    assert context_order_key(a, knowledge=True, stale=stale_a) > context_order_key(b, knowledge=False, stale=stale_b)


@given(steps, steps, st.booleans())
def test_among_its_like_the_better_score_stands_first_and_the_stale_sinks(a: float, b: float, knowledge: bool) -> None:
    if a > b:
        assert context_order_key(a, knowledge=knowledge) > context_order_key(b, knowledge=knowledge)
    if a > 0:
        assert context_order_key(a, knowledge=knowledge) > context_order_key(a, knowledge=knowledge, stale=True)


def test_knowledge_counts_three_times() -> None:
    assert context_order_key(0.2, knowledge=True)[1] == pytest.approx(0.6)
    assert frozenset({"decision", "constraint", "heuristic", "rejected"}) == KNOWLEDGE_TYPES


# Saying a thing once.

words = st.lists(st.sampled_from("alpha beta gamma delta epsilon zeta eta theta iota kappa".split()), max_size=14)
texts = st.lists(words.map(" ".join), max_size=10)


@given(texts)
def test_what_is_distinct_is_a_part_in_the_same_order_and_stays_so(given_: list[str]) -> None:
    numbered = list(enumerate(given_))
    remaining = drop_near_duplicates(numbered, WordSets(lambda pair: pair[1]))
    assert remaining == sorted(remaining)
    assert set(remaining) <= set(numbered)
    assert remaining[:1] == numbered[:1]
    assert drop_near_duplicates(remaining, WordSets(lambda pair: pair[1])) == remaining


@given(texts)
def test_every_text_left_out_resembles_one_kept_before_it(given_: list[str]) -> None:
    numbered = list(enumerate(given_))
    remaining = drop_near_duplicates(numbered, WordSets(lambda pair: pair[1]))
    for number, text in numbered:
        if (number, text) not in remaining:
            assert any(similar(text, other) >= 0.9 for at, other in remaining if at < number)


def similar(a: str, b: str) -> float:
    one, two = set(a.lower().split()), set(b.lower().split())
    return len(one & two) / len(one | two) if one | two else 1.0


def test_case_and_punctuation_do_not_make_a_difference_but_a_word_does() -> None:
    statements = ["Use Redis, always!", "use redis always", "use valkey always", "never use redis"]
    assert drop_near_duplicates(statements, WordSets(str)) == [statements[0], statements[2], statements[3]]


def test_a_looser_border_can_be_asked_for() -> None:
    statements = ["a b c d", "a b c e", "a b c d e f", "x y z"]
    assert drop_near_duplicates(statements, WordSets(str), same=0.5) == ["a b c d", "x y z"]
    assert drop_near_duplicates(statements, WordSets(str)) == statements


# The budget.


@given(st.integers(0, 1000), st.lists(st.tuples(st.integers(-5, 400), st.sampled_from((0.5, 0.65, 0.75, 1.0)))))
def test_a_budget_is_never_exceeded(tokens: int, costs: list[tuple[int, float]]) -> None:
    budget = TokenBudget(tokens)
    spent = 0
    for cost, part in costs:
        fits = cost >= 0 and spent + cost <= tokens * part
        assert budget.spend(cost, part) is fits
        spent += cost if fits else 0
        assert budget.spent == spent <= tokens


def test_what_is_spent_already_counts() -> None:
    budget = TokenBudget(100, spent=90)
    assert not budget.spend(11)
    assert budget.spend(10)
    assert not budget.spend(1)
    assert budget.spend(0)


@given(st.integers(0, 10**9))
def test_a_token_is_four_characters_or_a_part_of_them(characters: int) -> None:
    assert estimate_tokens(characters) == math.ceil(characters / 4)
    assert 4 * estimate_tokens(characters) - characters in (0, 1, 2, 3)


def test_what_has_no_vector_is_expected_to_mean_what_those_like_it_mean() -> None:
    known = {n: Evidence(bm25=1.0, cosine=0.9 - n / 10, found=0.2) for n in range(5)}
    more_words, fewer_words = Evidence(bm25=2.0, found=0.5), Evidence(bm25=0.5, found=0.01)
    expected = expected_cosines({**known, 8: more_words, 9: fewer_words}, best_bm25=2.0)
    assert expected == {8: pytest.approx(0.8), 9: 0.0}
    assert fused_score(more_words, 2.0, expected[8]) > fused_score(known[0], 2.0)
    assert expected_cosines(known, 2.0) == {}


def test_one_of_each_key_stays_and_all_without_one() -> None:
    assert first_per_key(["a1", "b", "a2", "b"], lambda text: text[:1] if text[0] == "a" else "") == ["a1", "b", "b"]
    # One that is left out takes nothing else with it.
    assert first_per_key(["ab", "bc", "cd"], lambda text: text) == ["ab", "cd"]


def test_groups_are_those_that_say_nearly_the_same() -> None:
    texts = ["we deploy on fridays at three", "cats sleep", "we deploy on fridays at four", "dogs bark"]
    assert group_near_duplicates(texts, WordSets(str)) == [[texts[0], texts[2]]]
