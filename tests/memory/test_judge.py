"""The judge: what a later statement is to an earlier one, how sure that is, and why, in a sentence."""

from __future__ import annotations

import pytest

from commonplace.embed.cross_encoder import CONTRADICTIONS, CrossEncoder
from commonplace.memory.judge import READ_LENGTH, compare, compare_all

JIRA = "Our issue tracker is Jira"
MOVED = "We moved all our issues from Jira to Linear last week"


@pytest.fixture(scope="module")
def model() -> CrossEncoder:
    return CrossEncoder(graph=CONTRADICTIONS)


@pytest.mark.parametrize(
    ("old", "new", "kind", "why"),
    [
        ("Sessions last 30 days", "Sessions last 90 days", "changes", "It was 30, and is 90."),
        ("Use tabs", "Never use tabs", "contradicts", "One denies what the other says."),
        (JIRA, MOVED, "contradicts", "The later one says otherwise."),
        ("Deploys go through Ines", "deploys go through Ines.", "same", "Both say the same."),
        (JIRA, "The canteen serves soup on Mondays", "unrelated", ""),
    ],
)
def test_what_two_statements_are_to_each_other(model: CrossEncoder, old: str, new: str, kind: str, why: str) -> None:
    verdict = compare(model, old, new)
    assert (verdict.kind, verdict.why) == (kind, why)
    assert verdict.certainty > 0.7 or kind == "unrelated"


def test_without_a_model_only_the_words_decide() -> None:
    assert compare(None, JIRA, MOVED).kind == "unrelated"
    assert compare(None, "Use tabs", "Never use tabs").by_words


def test_several_are_read_at_once_and_in_their_order(model: CrossEncoder) -> None:
    olds = [("The canteen serves soup", 0.1), (JIRA, 0.5), ("Lunch is at noon", 0.1)]
    assert [verdict.is_against for verdict in compare_all(model, olds, MOVED)] == [False, True, False]


def test_prose_is_not_read(model: CrossEncoder) -> None:
    prose = "We talked about the weather. " * (READ_LENGTH // 20)
    assert compare(model, prose, prose + "Then we moved.").kind == "unrelated"
