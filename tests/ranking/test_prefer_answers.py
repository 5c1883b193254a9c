"""What only repeats the question stands behind its reply."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.ranking.scoring import (
    REPEATED_QUESTION_CAP,
    prefer_answers,
)


@given(st.floats(-1, 2), st.floats(-1, 2))
def test_a_reply_stands_before_the_question_that_only_repeats_what_is_asked(question: float, reply: float) -> None:
    changed = prefer_answers({1: question, 2: reply, 3: 0.5}, [1], {1: 2})
    assert changed[2] > changed[1] and changed[2] >= reply and 3 not in changed


def test_a_repeated_question_without_a_reply_is_no_likely_answer() -> None:
    assert prefer_answers({1: 1.4}, [1], {}) == {1: REPEATED_QUESTION_CAP}


def test_of_two_questions_with_one_reply_the_better_one_counts() -> None:
    changed = prefer_answers({1: 0.9, 2: 0.6, 3: 0.1}, [1, 2], {1: 3, 2: 3})
    assert changed[3] == 0.9 > changed[1] > changed[2]
