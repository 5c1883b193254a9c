"""The part of a text that is told where there is no room for all of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.sentences import excerpt

LONG = "First some words about nothing. " * 10 + "The session lives in Redis for 30 days. " + "And then more. " * 20


def test_what_fits_is_told_whole() -> None:
    assert excerpt("short", {"redis"}, 100) == "short"


def test_it_begins_where_the_words_are() -> None:
    result = excerpt(LONG, {"redi", "session"}, 60)
    assert result.startswith("… The session lives in Redis") and len(result) <= 60


def test_without_any_of_them_it_is_the_beginning() -> None:
    assert excerpt(LONG, {"kubernet"}, 40).startswith("First some words") and excerpt(LONG, (), 40)[-1] == "…"


def test_words_at_the_end_leave_no_room_unused() -> None:
    result = excerpt("One. " * 50 + "Redis.", {"redi"}, 50)
    assert result.endswith("Redis.") and len(result) > 40


@given(st.text(), st.sets(st.text("abc", min_size=1, max_size=3)), st.integers(3, 80))
def test_it_is_never_longer_than_it_may_be(text: str, wanted: set[str], limit: int) -> None:
    result = excerpt(text, wanted, limit)
    assert len(result) <= max(limit, 4)
    assert result == text or result.strip("… ") in text or result.rstrip("… ") in text
