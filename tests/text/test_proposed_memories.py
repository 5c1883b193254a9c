"""Which prompts state a decision, a rule, a preference or a correction: precision first, since each is proposed."""

from __future__ import annotations

import pytest

from commonplace.text.proposed_memories import MAX_STATEMENTS, find_statements

from .stated_in_prompts import NOT_STATING, STATING


def test_there_are_enough_examples() -> None:
    assert len(STATING) >= 60 and len(NOT_STATING) >= 60
    assert len({prompt for prompt, *_rest in STATING} | set(NOT_STATING)) == len(STATING) + len(NOT_STATING)


@pytest.mark.parametrize(("prompt", "type_", "words"), STATING)
def test_a_statement_is_found_with_its_kind(prompt: str, type_: str, words: str) -> None:
    assert [stated.type for stated in find_statements(prompt) if words in stated.text] == [type_]


@pytest.mark.parametrize("prompt", NOT_STATING)
def test_what_states_nothing_is_left_alone(prompt: str) -> None:
    assert find_statements(prompt) == []


def test_a_statement_stands_by_itself_and_names_its_sentence() -> None:
    (made,) = find_statements("ok, no, use the European endpoint instead of the US one. Then run the tests.")
    assert made.text == "Use the European endpoint instead of the US one."
    assert made.sentence == "ok, no, use the European endpoint instead of the US one."


def test_a_long_prompt_has_few_statements_each_once() -> None:
    many = "\n".join(f"We decided to use port {8000 + number} for service {number}." for number in range(20))
    assert len(find_statements(many)) == MAX_STATEMENTS
    assert len(find_statements("Never deploy on Fridays.\n\nnever deploy on Fridays.")) == 1


@pytest.mark.parametrize(
    "prompt", ["", " ", "\0", "no," * 10_000, "we decided " * 10_000, "a" * 100_000, "always: " * 5_000]
)
def test_odd_texts_state_nothing(prompt: str) -> None:
    assert find_statements(prompt) == []
