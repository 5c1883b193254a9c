"""Answers to calls that name themselves: one is done once, its answer is repeated, and a crash blocks nobody long."""

from __future__ import annotations

import pytest

from commonplace.store.protocol import Store
from commonplace.store.types import EarlierRequest, RequestClaim, SavedReply

from .conftest import THEN, Opener

MINUTE, DAY = 60_000, 86_400_000
CLAIM = RequestClaim("7", "order-1", b"print", "first")
DONE = SavedReply(201, '{"ETag":"x"}', b'{"id":1}')


def claim(store: Store, wanted: RequestClaim = CLAIM, now: int = THEN) -> EarlierRequest | None:
    return store.claim_reply(wanted, now, now - MINUTE, now - DAY)


def test_the_first_to_come_does_it_and_the_next_gets_its_answer(store: Store) -> None:
    assert claim(store) is None
    store.store_reply(CLAIM, DONE)
    assert claim(store, CLAIM._replace(attempt="second")) == EarlierRequest(b"print", DONE)


def test_the_answer_outlives_the_process(open_store: Opener) -> None:
    first = open_store()
    claim(first)
    first.store_reply(CLAIM, DONE)
    first.close()
    assert claim(open_store(), now=THEN + DAY - 1) == EarlierRequest(b"print", DONE)


def test_while_one_works_on_it_another_is_told_so(store: Store, neighbour: Store) -> None:
    assert claim(store) is None
    assert claim(neighbour, CLAIM._replace(attempt="second", fingerprint=b"other")) == EarlierRequest(b"print", None)


def test_a_claim_without_an_answer_is_taken_over_after_a_while(store: Store, neighbour: Store) -> None:
    second = CLAIM._replace(attempt="second")
    assert claim(store) is None
    assert claim(neighbour, second, THEN + MINUTE) == EarlierRequest(b"print", None)
    assert claim(neighbour, second, THEN + MINUTE + 1) is None


def test_whoever_was_taken_over_from_changes_nothing_any_more(store: Store) -> None:
    second = CLAIM._replace(attempt="second")
    claim(store)
    claim(store, second, THEN + 2 * MINUTE)
    store.store_reply(CLAIM, DONE)
    store.release_claim(CLAIM)
    assert claim(store, second, THEN + 2 * MINUTE) == EarlierRequest(b"print", None)


def test_a_dropped_claim_leaves_nothing(store: Store) -> None:
    claim(store)
    store.release_claim(CLAIM)
    assert claim(store, CLAIM._replace(attempt="second", fingerprint=b"other")) is None


def test_an_answer_is_kept_for_a_day(store: Store) -> None:
    claim(store)
    store.store_reply(CLAIM, DONE)
    assert claim(store, now=THEN + DAY) == EarlierRequest(b"print", DONE)
    assert claim(store, now=THEN + DAY + 1) is None


@pytest.mark.parametrize("other", [CLAIM._replace(caller="8"), CLAIM._replace(name="order-2")])
def test_names_of_others_are_others(store: Store, other: RequestClaim) -> None:
    claim(store)
    store.store_reply(CLAIM, DONE)
    assert claim(store, other) is None


def test_names_in_another_space_are_others(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    assert claim(here) is None
    assert claim(there) is None
