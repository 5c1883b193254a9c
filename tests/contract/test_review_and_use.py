"""Authors, the review of proposals, and how useful items were: the same on every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from commonplace.model import ACCEPTED, DISMISSED, ORIGINS, PROPOSED, SETTLED, Author, Draft, Item, Scope
from commonplace.store.protocol import Store
from commonplace.store.types import SAME_USE_MS, USE_HALF_LIFE_MS

from .conftest import THEN, Words

ANNA = Author("anna", "person")
HOOK = Author("anna via claude-code", "captured")


@pytest.fixture
def put(store: Store, draft: Callable[..., Draft]) -> Callable[..., int]:
    def one(body: str, by: Author = ANNA, review: str | None = None) -> int:
        made = replace(draft(body), author=by.name, origin=by.origin, review=review)
        return store.put([made], THEN)[0].id

    return one


def read(store: Store, id_: int) -> Item:
    return store.get([id_])[id_]


def ids(store: Store, **scope: object) -> list[int]:
    return [item.id for item in store.newest(Scope(**scope), 50)]  # type: ignore[arg-type]


def test_items_are_listed_and_found_by_author_and_origin(
    store: Store, put: Callable[..., int], by_words: Words
) -> None:
    hers, hook = put("zebra one"), put("zebra two", HOOK)
    other, nobody = put("zebra three", Author("annabel", "agent")), put("zebra four", Author())
    assert ids(store, author="anna") == ids(store, author="Anna") == [hook, hers]
    assert ids(store, author="claude-code") == [hook]
    assert set(by_words(store, "zebra", Scope(author="anna"))) == {hers, hook}
    assert ids(store, origins=("person", "agent")) == [other, hers]
    assert by_words(store, "zebra", Scope(origins=("captured",))) == [hook]
    assert nobody not in {id_ for origin in ORIGINS for id_ in ids(store, origins=(origin,))}


def test_a_proposal_is_accepted_under_the_name_of_who_accepts_it(store: Store, put: Callable[..., int]) -> None:
    waiting, plain = put("zebra one", HOOK, PROPOSED), put("zebra two")
    assert ids(store, review=PROPOSED) == [waiting]
    assert ids(store, review=SETTLED) == [plain]
    store.review([waiting, plain], ACCEPTED, THEN + 1, ANNA)
    item = read(store, waiting)
    assert (item.author, item.origin, item.review, item.rev) == ("anna", "agreed", "accepted", 2)
    assert read(store, plain).rev == 1
    (change,) = store.history(waiting)
    assert (change.op, change.author, change.origin) == ("accept", "anna", "person")
    assert (change.before["author"], change.before["origin"]) == (HOOK.name, "captured")
    assert ids(store, review=PROPOSED) == []


def test_what_is_dismissed_vanishes_and_waits_again_when_that_is_undone(
    store: Store, put: Callable[..., int], by_words: Words
) -> None:
    waiting = put("zebra one", HOOK, PROPOSED)
    store.review([waiting], DISMISSED, THEN + 1, ANNA)
    assert by_words(store, "zebra") == ids(store) == []
    assert read(store, waiting).review == DISMISSED
    assert [change.op for change in store.history(waiting)] == ["dismiss"]
    store.review([waiting], PROPOSED, THEN + 2, ANNA)
    item = read(store, waiting)
    assert (item.review, item.author, item.origin, item.forgotten_ms) == (PROPOSED, HOOK.name, "captured", None)
    assert by_words(store, "zebra") == ids(store, review=PROPOSED) == [waiting]


def test_undoing_an_acceptance_gives_it_back_to_its_proposer(store: Store, put: Callable[..., int]) -> None:
    waiting = put("zebra one", HOOK, PROPOSED)
    store.review([waiting], ACCEPTED, THEN + 1, ANNA)
    store.review([waiting], PROPOSED, THEN + 2, ANNA)
    item = read(store, waiting)
    assert (item.review, item.author, item.origin) == (PROPOSED, HOOK.name, "captured")


def test_restoring_what_was_dismissed_lets_it_wait_again(store: Store, put: Callable[..., int]) -> None:
    waiting = put("zebra one", HOOK, PROPOSED)
    store.review([waiting], DISMISSED, THEN + 1, ANNA)
    store.restore([waiting], THEN + 2, ANNA)
    assert read(store, waiting).review == PROPOSED


def test_proposing_again_what_was_dismissed_brings_nothing_back_and_a_person_does(
    store: Store, put: Callable[..., int]
) -> None:
    waiting = put("zebra one", HOOK, PROPOSED)
    store.review([waiting], DISMISSED, THEN + 1, ANNA)
    assert put("zebra one", HOOK, PROPOSED) == waiting
    assert ids(store) == []
    assert put("zebra one", Author("anna via cursor", "agent")) == waiting
    assert ids(store) == [] and read(store, waiting).review == DISMISSED, "an agent overrules nobody"
    assert put("zebra one") == waiting
    assert (read(store, waiting).review, read(store, waiting).origin) == (ACCEPTED, "agreed")


def test_uses_fade_and_are_counted_once_an_hour(store: Store, put: Callable[..., int]) -> None:
    one, other = put("zebra one"), put("zebra two")
    assert store.uses([one, other]) == {}
    store.record_use([one, one], THEN)
    store.record_use([one], THEN + SAME_USE_MS - 1)
    assert store.uses([one, other])[one].number == 1.0
    store.record_use([one], THEN + USE_HALF_LIFE_MS)
    use = store.uses([one])[one]
    assert use.number == pytest.approx(1.5)
    assert use.now(THEN + 2 * USE_HALF_LIFE_MS) == pytest.approx(0.75)
    assert store.uses([other]) == {}


def test_uses_of_one_space_are_not_seen_in_another(
    open_store: Callable[..., Store], draft: Callable[..., Draft]
) -> None:
    here, there = open_store("one"), open_store("two")
    id_ = here.put([draft("zebra")], THEN)[0].id
    here.record_use([id_], THEN)
    assert here.uses([id_]) != {}
    assert there.uses([id_]) == {}
