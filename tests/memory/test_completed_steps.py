"""Which sentences close a next step, and which do not: a step that vanishes too early is worse than one that stays."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.memory.open_steps import completed_steps, is_same_step, merge_steps, step_words, text_before_steps

METRIC, TEAM = "Add a metric for lock waits", "Tell the mobile team"
BOTH = {METRIC, TEAM}


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("I added the metric.", {METRIC}),
        ("The metric is in place.", {METRIC}),
        ("The lock waits metric is done.", {METRIC}),
        ("Added the metric and informed the mobile team.", BOTH),
        ("I have told the mobile team.", {TEAM}),
        ("The mobile team has been told.", {TEAM}),
        ("Both steps are done.", BOTH),
        ("- [x] Add a metric for lock waits\n- [ ] Tell the mobile team", {METRIC}),
        ("- ~~Tell the mobile team~~", {TEAM}),
        ("✅ Tell the mobile team", {TEAM}),
        ("Add a metric for lock waits: done", {METRIC}),
        ("Never mind the mobile team.", {TEAM}),
        ("We don't need to tell the mobile team.", {TEAM}),
    ],
)
def test_what_closes_a_step(text: str, closed: set[str]) -> None:
    assert completed_steps([METRIC, TEAM], text) == closed


@pytest.mark.parametrize(
    "text",
    [
        "Understood, the reservation stays at 15 minutes.",
        "done",
        "I will add the metric for lock waits tomorrow.",
        "I haven't added the metric for lock waits yet.",
        "The metric for lock waits still needs to be added.",
        "Once the metric is added, alerts work.",
        "I added a metric for refunds.",
        "I removed the metric for lock waits.",
        "I told the payments team.",
        "I checked the mobile team's calendar.",
        "I fixed the bug that the mobile team reported.",
        "Should I tell the mobile team?",
        "Don't forget to tell the mobile team.",
        "Skip the mobile team for now.",
        "Next steps:\n- Add a metric for lock waits\n- Tell the mobile team",
    ],
)
def test_what_leaves_steps_open(text: str) -> None:
    assert completed_steps([METRIC, TEAM], text) == set()


@pytest.mark.parametrize(
    ("question", "closed"),
    [("Please add the metric for lock waits", {METRIC}), ("Do the next steps", BOTH), ("Rename the module", set())],
)
def test_done_means_what_was_asked_for(question: str, closed: set[str]) -> None:
    assert completed_steps([METRIC, TEAM], "Done. All tests pass.", question) == closed
    assert completed_steps([METRIC, TEAM], "Not done, it fails.", question) == set()


def test_a_list_that_repeats_a_step_is_the_list_as_it_stands() -> None:
    assert merge_steps([METRIC, TEAM], [TEAM, "Write the changelog"], listed=True) == [TEAM, "Write the changelog"]
    assert merge_steps([METRIC], ["Write the changelog"], listed=True) == [METRIC, "Write the changelog"]
    assert merge_steps([METRIC, TEAM], ["Tell the mobile team about it"], listed=False) == [
        METRIC,
        "Tell the mobile team about it",
    ]


def test_steps_are_the_same_by_their_words() -> None:
    assert is_same_step(METRIC, "add the metrics for lock waits")
    assert not is_same_step(METRIC, TEAM) and not is_same_step("Add a test", "Add a metric")


def test_a_text_ends_where_its_steps_begin() -> None:
    assert text_before_steps("The lock was late.\n\n## Next steps\n- Add a metric") == "The lock was late."
    assert text_before_steps("Nothing is left.") == "Nothing is left."


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=300), st.text(max_size=60))
def test_only_steps_are_closed(steps: list[str], text: str, question: str) -> None:
    assert completed_steps(steps, text, question) <= set(steps)


def work_of(do: Callable[[], object]) -> int:
    """How many functions are called."""
    called = 0

    def count(_frame: object, event: str, _function: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        do()
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize("line", ["- [x] Write page {}", "Page {} is done.", "I wrote page {} and told team {}."])
def test_a_long_list_of_steps_takes_no_more_than_its_length(line: str) -> None:
    """Of four times as many steps, some of them named by a long answer."""

    def work(number: int) -> int:
        step_words.cache_clear()
        steps = [f"Write page {one}" for one in range(number)]
        answer = "\n".join(line.format(one, one) for one in range(200))
        newer = [f"Write page {number + one}" for one in range(200)]
        return work_of(lambda: (completed_steps(steps, answer), merge_steps(steps, newer, listed=True)))

    assert work(1_600) < 6 * work(400)
    assert completed_steps([f"Write page {one}" for one in range(6_400)], "- [x] Write page 7") == {"Write page 7"}
