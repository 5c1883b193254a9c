"""Which questions are about time alone, and which days they mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.dates import Period, local_day, parse_time_question

# A Saturday afternoon.
NOW = int(datetime(2025, 3, 15, 14, 30, tzinfo=UTC).timestamp() * 1000)
OPEN = Period()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def between(start: str | None, end: str | None = None) -> Period:
    return Period(at(start) if start else None, at(end) if end else None)


@pytest.mark.parametrize(
    ("question", "period"),
    [
        ("What did we do last?", OPEN),
        ("what did we do last", OPEN),
        ("Where did we leave off?", OPEN),
        ("what were we working on most recently?", OPEN),
        ("latest", OPEN),
        ("the last session", OPEN),
        ("what changed recently", OPEN),
        ("Where were we?", OPEN),
        ("continue", OPEN),
        ("please resume", OPEN),
        ("Was haben wir zuletzt gemacht?", OPEN),
        ("was haben wir gestern gemacht", between("2025-03-14", "2025-03-15")),
        ("Was ist heute passiert?", between("2025-03-15", "2025-03-16")),
        ("what broke last Tuesday", between("2025-03-11", "2025-03-12")),
        ("what went wrong yesterday?", between("2025-03-14", "2025-03-15")),
        ("What was I working on?", OPEN),
        ("remind me what we did on tuesday", between("2025-03-11", "2025-03-12")),
        ("what did we do on February 10?", between("2025-02-10", "2025-02-11")),
        ("what happened on the 3rd of March", between("2025-03-03", "2025-03-04")),
        ("what did we work on in November?", between("2024-11-01", "2024-12-01")),
        ("what did we do in December 2023", between("2023-12-01", "2024-01-01")),
        ("what was done since January", between("2025-01-01")),
        ("what did we do in March", between("2025-03-01", "2025-04-01")),
        ("What did I do yesterday?", between("2025-03-14", "2025-03-15")),
        ("yesterday's work", between("2025-03-14", "2025-03-15")),
        ("what happened today", between("2025-03-15", "2025-03-16")),
        ("what was I doing this morning?", between("2025-03-15", "2025-03-16")),
        ("what did we do on Friday?", between("2025-03-14", "2025-03-15")),
        ("what did we do last saturday", between("2025-03-08", "2025-03-09")),
        ("everything since Monday", None),
        ("what happened since Monday", between("2025-03-10")),
        ("this week", between("2025-03-10")),
        ("what did we do last week?", between("2025-03-03", "2025-03-10")),
        ("what did we do two weeks ago?", between("2025-02-24", "2025-03-03")),
        ("2 days ago", between("2025-03-13", "2025-03-14")),
        ("the last 3 days", between("2025-03-12")),
        ("the past week", between("2025-03-08T14:30")),
        ("in the last hour", between("2025-03-15T13:30")),
        ("an hour ago", between("2025-03-15T12:30")),
        ("what did we do this month", between("2025-03-01")),
        ("what did we do last month", between("2025-02-01", "2025-03-01")),
        ("what did we do on 2025-03-01?", between("2025-03-01", "2025-03-02")),
        ("what was done since 2025-03-01", between("2025-03-01")),
    ],
)
def test_the_time_that_a_question_is_about(question: str, period: Period | None) -> None:
    parsed = parse_time_question(question, NOW, UTC)
    if period is None:
        assert parsed is None or parsed.name
    else:
        assert parsed is not None and (parsed.period, parsed.name) == (period, "")


@pytest.mark.parametrize(
    "question",
    [
        "how did we implement rate limiting last week?",
        "the latest version of the parser breaks",
        "time off",
        "what do we use for hours and days",
        "last of the Mohicans movie night",
        "what did we do on 2025-13-45?",
        "in the last 12345 days",
        "login",
        "",
        "?",
        "continue the migration of the orders table",
        "resume the upload after a lost connection",
        "where are we using Redis?",
        "what did we do on February 30?",
        "may we start?",
        "what was I doing with the cache keys?",
    ],
)
def test_questions_about_a_topic_are_none(question: str) -> None:
    assert parse_time_question(question, NOW, UTC) is None


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("what did we do last in my-api?", "my-api"),
        ("latest work on github.com/acme/shop", "github.com/acme/shop"),
        ("what did we do on Shop yesterday?", "shop"),
    ],
)
def test_one_more_word_may_name_a_project(question: str, name: str) -> None:
    parsed = parse_time_question(question, NOW, UTC)
    assert parsed is not None and parsed.name == name


def test_days_are_those_of_whoever_asks() -> None:
    late = int(datetime(2025, 3, 15, 2, 0, tzinfo=UTC).timestamp() * 1000)
    west = timezone(timedelta(hours=-8))
    assert (local_day(late, UTC), local_day(late, west)) == ("2025-03-15", "2025-03-14")
    parsed = parse_time_question("what did we do yesterday?", late, west)
    assert parsed is not None and parsed.period == between("2025-03-13T08:00", "2025-03-14T08:00")
    assert local_day(-(10**13), UTC) == "1653-02-10"
    here = parse_time_question("today", NOW)
    assert here is not None and here.period.from_ms is not None and here.period.to_ms is not None
    assert here.period.from_ms <= NOW < here.period.to_ms


class Berlin(tzinfo):
    """Where clocks went forward at two in the morning of 30 March 2025."""

    def dst(self, when: datetime | None) -> timedelta:
        assert when is not None
        return timedelta(hours=when.replace(tzinfo=None) >= datetime(2025, 3, 30, 2))  # noqa: DTZ001 - local by design

    def utcoffset(self, when: datetime | None) -> timedelta:
        return timedelta(hours=1) + self.dst(when)

    def tzname(self, when: datetime | None) -> str:
        return "Berlin"


def test_a_day_on_which_the_clocks_change_has_23_hours() -> None:
    noon = int(datetime(2025, 3, 31, 10, 0, tzinfo=UTC).timestamp() * 1000)
    parsed = parse_time_question("yesterday", noon, Berlin())
    assert parsed is not None
    assert parsed.period == between("2025-03-29T23:00", "2025-03-30T22:00")


@given(st.text(max_size=60), st.integers(0, 4_000_000_000_000))
def test_any_text_is_read(question: str, now: int) -> None:
    for text in (question, f"last {question} days", f"{question} weeks ago", f"what did we do on {question} last"):
        parsed = parse_time_question(text, now, UTC)
        if parsed is not None and parsed.period.from_ms is not None and parsed.period.to_ms is not None:
            assert parsed.period.from_ms < parsed.period.to_ms
