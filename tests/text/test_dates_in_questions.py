"""The time that a question names beside its topic."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.dates import NamedTime, named_time

NOW = datetime(2026, 11, 12, 10, tzinfo=UTC)


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]


def named(question: str) -> NamedTime | None:
    return named_time(question, int(NOW.timestamp() * 1000), UTC)


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("What did Ann do on 25 May, 2023?", NamedTime(5, 25, 2023)),
        ("what failed on May 25th 2023", NamedTime(5, 25, 2023)),
        ("the 3rd of March, what broke", NamedTime(3, 3)),
        ("which books did she read in July 2023?", NamedTime(7, 0, 2023)),
        ("which books did she read in July?", NamedTime(7)),
        ("errors of 2024-02-29", NamedTime(2, 29, 2024)),
        ("we may march on", None),
        ("why did 3/20 tests fail", None),
        ("what failed on 25 Mar 2023", NamedTime(3, 25, 2023)),
        ("errors of 2023-02-29", None),
        ("on 31 June 2023", None),
        ("what was the last error", None),
        ("how many days does it take", None),
        ("", None),
    ],
)
def test_days_and_months(question: str, time: NamedTime | None) -> None:
    assert named(question) == time


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("what did we say about Redis yesterday", (2026, 11, 11, 12), (2026, 11, 10, 12)),
        ("which tests failed last week", (2026, 11, 4, 12), (2026, 10, 31, 12)),
        ("the bug two days ago", (2026, 11, 10, 12), (2026, 11, 9, 12)),
    ],
)
def test_times_counted_from_now(question: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    time = named(question)
    assert time is not None
    assert time.nearness(ms(*inside)) == 1.0
    assert time.nearness(ms(*outside)) == 0.0


def test_what_happened_is_told_of_for_a_while_after() -> None:
    day = NamedTime(5, 25, 2023)
    lines = [day.nearness(ms(2023, 5, n)) for n in (24, 25, 26, 29, 31)]
    assert lines[0] == 0.0 and lines[1] == 1.0
    assert lines[1:] == sorted(lines[1:], reverse=True) and 0.0 < lines[-1] < 1.0
    assert day.nearness(ms(2023, 6, 20)) == 0.0 == day.nearness(ms(2024, 5, 25))


def test_without_a_year_any_year_is_meant() -> None:
    assert NamedTime(7).nearness(ms(2019, 7, 31)) == 1.0 == NamedTime(7).nearness(ms(2025, 7, 1))
    assert 0.0 < NamedTime(12, 31).nearness(ms(2024, 1, 2)) < 1.0


def test_the_last_time_that_it_was() -> None:
    now = int(NOW.timestamp() * 1000)
    july = NamedTime(7).latest(now)
    assert (july.from_ms, july.to_ms) == (ms(2026, 7, 1), ms(2026, 8, 1))
    december = NamedTime(12, 24).latest(now)
    assert (december.from_ms, december.to_ms) == (ms(2025, 12, 24), ms(2025, 12, 25))
    leap = NamedTime(2, 29).latest(now)
    assert leap.from_ms == ms(2024, 2, 29)


@given(st.text(), st.integers(-(10**13), 10**14))
def test_any_question_may_be_asked_of_any_moment(question: str, at_ms: int) -> None:
    time = named(question)
    assert time is None or 0.0 <= time.nearness(at_ms) <= 1.0


@given(st.integers(1, 12), st.integers(0, 28), st.integers(0, 9999), st.integers(-(6 * 10**13), 2 * 10**14))
def test_nearness_is_a_share(month: int, day: int, year: int, at_ms: int) -> None:
    assert 0.0 <= NamedTime(month, day, year).nearness(at_ms) <= 1.0
