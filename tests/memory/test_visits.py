"""Visits: known by a token until they are over, are ended, or their key is; no token can be made or changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock

from commonplace.errors import Unauthorized
from commonplace.memory import keys, visits
from commonplace.memory.book import Book


def begun(book: Book) -> tuple[str, str]:
    """A visit's token, and the secret of its key."""
    key, secret = keys.create(book, "laptop")
    return visits.begin(key, secret, book.clock()), secret


def is_open(book: Book, token: str) -> bool:
    try:
        visits.check(book, token)
    except Unauthorized:
        return False
    return True


def test_a_visit_is_over_after_some_days_or_with_its_key(book: Book, clock: Clock) -> None:
    token, secret = begun(book)
    assert visits.check(book, token).name == "laptop"
    clock.now += visits.VISIT_MS - 1
    assert is_open(book, token)
    clock.now += 1
    assert not is_open(book, token)
    token, secret = begun(book)
    keys.revoke(book, secret)
    assert not is_open(book, token)


def test_a_visit_that_was_ended_is_over_and_no_other(book: Book, clock: Clock) -> None:
    key, secret = keys.create(book, "laptop")
    here, there = (visits.begin(key, secret, now) for now in (clock.now, clock.now + 1))
    visits.end(book, here)
    assert not is_open(book, here) and is_open(book, there)
    with pytest.raises(Unauthorized, match="signed out"):
        visits.end(book, here)
    clock.now += visits.VISIT_MS + 1
    token = visits.begin(key, secret, clock.now)
    visits.end(book, token)
    assert not is_open(book, token)


def test_only_a_visit_can_be_ended(book: Book) -> None:
    _token, secret = begun(book)
    for token in ("", ".", secret, "a.1.b", f"{secret[:17]}.{book.clock() + 5}.{'0' * 64}"):
        with pytest.raises(Unauthorized):
            visits.end(book, token)


@given(place=st.integers(0, 200), letter=st.sampled_from("0123456789abcdef.-é"))
def test_a_token_that_was_changed_is_no_token(book: Book, place: int, letter: str) -> None:
    token, _secret = begun(book)
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]
    assert is_open(book, changed) == (changed == token)
