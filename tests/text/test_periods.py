"""Beginnings and ends of stretches of time, as people write them."""

from __future__ import annotations

import contextlib
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.text.dates import period_end, period_start

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def local(day: int, hour: int = 0, month: int = 11) -> int:
    return int(datetime(2026, month, day, hour).astimezone().timestamp() * 1000)


# A Wednesday.
NOW = local(11, 15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", NOW - 7 * DAY),
        ("12h", NOW - 12 * HOUR),
        ("90 min", NOW - 90 * 60_000),
        ("2w", NOW - 14 * DAY),
        ("1y", NOW - 365 * DAY),
        ("2026-11-01", local(1)),
        (" 2026-11-01 ", local(1)),
        ("2026-11-01T09:00", local(1, 9)),
        ("2026-11-01T09:00:00Z", 1_793_523_600_000),
        ("now", NOW),
        (" Now ", NOW),
        ("today", local(11)),
        ("yesterday", local(10)),
        ("monday", local(9)),
        ("this week", local(9)),
        ("last week", local(2)),
        ("last month", local(1, month=10)),
    ],
)
def test_a_beginning(text: str, expected: int) -> None:
    assert period_start(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2d", NOW - 2 * DAY),
        ("2026-11-01", local(2)),
        ("2026-11-01T09:00", local(1, 9)),
        ("yesterday", local(11)),
        ("last week", local(9)),
        ("this week", NOW),
        # What happens at this very moment is a part of it.
        ("now", NOW + 1),
        ("today", local(12)),
    ],
)
def test_an_end(text: str, expected: int) -> None:
    assert period_end(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("2 hours ago", 2 * HOUR),
        ("1 hour ago", HOUR),
        ("an hour ago", HOUR),
        ("Two hours ago", 2 * HOUR),
        ("a couple of hours ago", 2 * HOUR),
        ("half an hour ago", 30 * MINUTE),
        ("30 minutes ago", 30 * MINUTE),
        ("a minute ago", MINUTE),
        ("90 min ago", 90 * MINUTE),
        ("2h ago", 2 * HOUR),
        ("a month ago", 30 * DAY),
        ("2 months ago", 60 * DAY),
        ("1 year ago", 365 * DAY),
    ],
)
def test_a_moment_some_time_ago_is_exact(text: str, ago: int) -> None:
    assert (period_start(text, NOW), period_end(text, NOW)) == (NOW - ago, NOW - ago)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "some hours ago",
        "ago",
        "99999 hours ago",
        "7x",
        "-3d",
        "2026-13-01",
        "9999-12-31x",
        "last week in my-api",
        "12",
    ],
)
def test_what_names_no_time_is_refused(text: str) -> None:
    for end in (period_start, period_end):
        with pytest.raises(InvalidInput, match="is not a time") as refused:
            end(text, NOW)
        assert "last week" in refused.value.hint


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_is_refused(text: str) -> None:
    for end in (period_start, period_end):
        with contextlib.suppress(InvalidInput):
            assert isinstance(end(text, NOW), int)
