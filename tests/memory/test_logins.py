"""Visits: known by a token until they are over, are ended, or their key is; no token can be made or changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Clock

from commonplace.errors import Unauthorized
from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory
from commonplace.text.dates import DAY_MS


def begun(memory: LocalMemory) -> tuple[str, str]:
    """A visit's token, and the secret of its key."""
    key, secret = api_keys.create_key(memory, "laptop")
    return api_keys.start_login(key, secret, memory.clock()), secret


def is_open(memory: LocalMemory, token: str) -> bool:
    try:
        api_keys.check_login(memory, token)
    except Unauthorized:
        return False
    return True


def test_a_visit_is_over_after_some_days_or_with_its_key(memory: LocalMemory, clock: Clock) -> None:
    token, secret = begun(memory)
    assert api_keys.check_login(memory, token).name == "laptop"
    clock.now += api_keys.LOGIN_MS - 1
    assert is_open(memory, token)
    clock.now += 1
    assert not is_open(memory, token)
    token, secret = begun(memory)
    api_keys.revoke_key(memory, secret)
    assert not is_open(memory, token)


def test_a_visit_that_began_while_the_clock_was_ahead_is_not_taken_before_its_time(
    memory: LocalMemory, clock: Clock
) -> None:
    right = clock.now
    clock.now += 365 * DAY_MS
    token, _secret = begun(memory)
    assert is_open(memory, token)
    clock.now = right
    assert not is_open(memory, token)
    # Two servers with one store may differ a little.
    clock.now += 365 * DAY_MS - 60_000
    assert is_open(memory, token)


def test_a_visit_that_was_ended_is_over_and_no_other(memory: LocalMemory, clock: Clock) -> None:
    key, secret = api_keys.create_key(memory, "laptop")
    here, there = (api_keys.start_login(key, secret, now) for now in (clock.now, clock.now + 1))
    api_keys.end_login(memory, here)
    assert not is_open(memory, here) and is_open(memory, there)
    with pytest.raises(Unauthorized, match="signed out"):
        api_keys.end_login(memory, here)
    clock.now += api_keys.LOGIN_MS + 1
    token = api_keys.start_login(key, secret, clock.now)
    api_keys.end_login(memory, token)
    assert not is_open(memory, token)


def test_only_a_visit_can_be_ended(memory: LocalMemory) -> None:
    _token, secret = begun(memory)
    for token in ("", ".", secret, "a.1.b", f"{secret[:17]}.{memory.clock() + 5}.{'0' * 64}"):
        with pytest.raises(Unauthorized):
            api_keys.end_login(memory, token)


@given(place=st.integers(0, 200), letter=st.sampled_from("0123456789abcdef.-é"))
def test_a_token_that_was_changed_is_no_token(memory: LocalMemory, place: int, letter: str) -> None:
    token, _secret = begun(memory)
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]
    assert is_open(memory, changed) == (changed == token)
