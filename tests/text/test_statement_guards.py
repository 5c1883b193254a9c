"""What the words of two statements settle by themselves, and what they leave to the model."""

from __future__ import annotations

import pytest

from commonplace.text.statement_guards import guard


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Deploys go through Ines", "deploys go through Ines."),
        ("Node 20 is required for all builds", "For all builds Node 20 is required"),
        ("Never deploy on Fridays", "Do not deploy on a Friday"),
        ("Use tofu, not terraform", "Use tofu, never terraform"),
        ("The team has four people", "The team has 4 people"),
    ],
)
def test_the_same_in_other_small_words(old: str, new: str) -> None:
    assert guard(old, new) == guard(new, old) == "same"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Sessions last 30 days", "Sessions last 90 days"),
        ("The review is on Monday", "The review is on Thursday"),
        ("The launch is on 3 March", "The launch is on 3 May"),
        ("The rate limit is 1,000 requests", "The rate limit is 2000 requests"),
        ("Uploads may have 10MB", "Uploads may have 25MB"),
    ],
)
def test_another_number_of_the_same_unit(old: str, new: str) -> None:
    assert guard(old, new) == guard(new, old) == "number"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Squash commits before merging", "Never squash commits before merging"),
        ("We deploy on Fridays", "We don\u2019t deploy on Fridays any more"),
        ("Use pnpm, not npm", "Use npm, not pnpm"),
        ("Releases need a sign-off", "Releases need no sign-off"),
    ],
)
def test_one_negation(old: str, new: str) -> None:
    assert guard(old, new) == guard(new, old) == "denied"


def test_what_repeats_a_statement_and_goes_on_says_no_less() -> None:
    short, long = "Never squash commits before merging", "Never squash commits before merging, keep them all"
    assert guard(short, long) == guard(long, short) == "adds"
    assert guard(short, short + ".") == "same"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ada reviews Bob", "Bob reviews Ada"),
        ("Uploads may have 10 MB", "Downloads may have 20 MB"),
        ("The export takes 30 seconds", "The export takes 3 minutes"),
        ("We use Jest for unit tests", "We switched from Jest to Vitest"),
        ("The cache holds 60 entries", "The cache holds entries"),
        ("", "Use tabs"),
        ("Use C", "Use C++"),
    ],
)
def test_the_rest_is_left_open(old: str, new: str) -> None:
    assert guard(old, new) == guard(new, old) == ""
