"""When items hold and who said them: written, changed, kept in the history, exchanged with other stores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.contract.conftest import LEASE, THEN, Opener, Words, make_draft
from tests.contract.test_records import LATER, records_by_name, results

from commonplace.model import Author, Draft, Item, Scope
from commonplace.store.protocol import Store
from commonplace.store.records import Record

DAY = 86_400_000
NEWER = ("valid_from_ms", "valid_until_ms", "expires_ms", "author", "origin", "review")


def stated(text: str, **more: object) -> Draft:
    given = {"valid_from_ms": THEN, "valid_until_ms": THEN + DAY, "author": "anna", "origin": "person", **more}
    return replace(make_draft(text), **given)  # type: ignore[arg-type]


def get(store: Store, item_id: int) -> Item:
    return store.get([item_id])[item_id]


def test_an_item_keeps_when_it_holds_and_who_said_it(store: Store) -> None:
    (stored,) = store.put([stated("walrus", expires_ms=THEN + 2 * DAY, review="proposed")], THEN)
    item = get(store, stored.id)
    assert (item.valid_from_ms, item.valid_until_ms, item.expires_ms) == (THEN, THEN + DAY, THEN + 2 * DAY)
    assert (item.author, item.origin, item.review) == ("anna", "person", "proposed")
    assert [item.holds_at(ms) for ms in (THEN - 1, THEN, THEN + DAY - 1, THEN + DAY)] == [False, True, True, False]
    (plain,) = store.put([make_draft("seal")], THEN)
    assert [getattr(get(store, plain.id), name) for name in NEWER] == [None] * 6


def test_a_change_tells_who_made_it_and_what_was_before(store: Store) -> None:
    (stored,) = store.put([stated("walrus")], THEN)
    store.rewrite(stored.id, replace(make_draft("seal"), author="ben", origin="agent"), THEN + 1)
    store.forget([stored.id], THEN + 2, Author("carla", "person"))
    edited, forgotten = store.history(stored.id)
    assert (edited.op, edited.author, edited.origin) == ("edit", "ben", "agent")
    assert {name: edited.before.get(name) for name in NEWER} == {
        **dict.fromkeys(NEWER),
        "valid_from_ms": THEN,
        "valid_until_ms": THEN + DAY,
        "author": "anna",
        "origin": "person",
    }
    assert (forgotten.op, forgotten.author, forgotten.before["author"]) == ("forget", "carla", "ben")
    item = get(store, stored.id)
    assert (item.author, item.valid_from_ms) == ("ben", None)


def test_superseding_closes_the_interval_and_restoring_opens_it_again(store: Store) -> None:
    old, endless, new, later = (
        one.id
        for one in store.put(
            [
                stated("walrus"),
                make_draft("seal"),
                replace(make_draft("otter"), valid_from_ms=THEN + 5),
                make_draft("whale"),
            ],
            THEN,
        )
    )
    store.supersede(old, new, THEN + 10)
    store.supersede(endless, later, THEN + 11)
    # Since when the new one holds, or else when it was said.
    assert get(store, old).valid_until_ms == THEN + 5
    assert get(store, endless).valid_until_ms == THEN + 11
    store.restore([old, endless], THEN + 20)
    assert get(store, old).valid_until_ms == THEN + DAY
    assert get(store, endless).valid_until_ms is None


def test_restoring_takes_back_the_end_that_a_coming_replacement_set(store: Store) -> None:
    endless, ending, soon, later = (
        one.id
        for one in store.put(
            [
                make_draft("walrus"),
                replace(make_draft("seal"), valid_until_ms=THEN + 9 * DAY),
                replace(make_draft("otter"), valid_from_ms=THEN + 5 * DAY),
                replace(make_draft("whale"), valid_from_ms=THEN + 3 * DAY),
            ],
            THEN,
        )
    )
    for old in (endless, ending):
        store.supersede(old, soon, THEN + 1)
        store.supersede(old, later, THEN + 2)
        assert get(store, old).valid_until_ms == THEN + 3 * DAY
    assert [change.op for change in store.history(endless)] == ["supersede", "supersede"]
    # Saying it again does not: it is still true until then.
    assert store.put([make_draft("walrus")], THEN + 3)[0].id == endless
    assert get(store, endless).valid_until_ms == THEN + 3 * DAY
    for end in (THEN + 5 * DAY, None):
        assert store.restore([endless], THEN + 4) == [endless]
        assert get(store, endless).valid_until_ms == end
    assert store.restore([endless], THEN + 5) == []
    # What was forgotten since comes back as it was, and then what ended it is taken back.
    store.forget([ending], THEN + 6)
    for end in (THEN + 3 * DAY, THEN + 5 * DAY, THEN + 9 * DAY):
        assert store.restore([ending], THEN + 7) == [ending]
        assert get(store, ending).valid_until_ms == end
    assert store.restore([ending], THEN + 8) == []


def test_an_end_that_somebody_set_since_stays(store: Store) -> None:
    old, new = (
        one.id for one in store.put([make_draft("walrus"), replace(make_draft("seal"), valid_from_ms=THEN + DAY)], THEN)
    )
    store.supersede(old, new, THEN + 1)
    store.rewrite(old, replace(make_draft("walrus"), valid_until_ms=THEN + 2 * DAY), THEN + 2)
    assert store.restore([old], THEN + 3) == []
    assert get(store, old).valid_until_ms == THEN + 2 * DAY


def test_records_carry_them_to_another_store(store: Store, open_store: Opener) -> None:
    (stored,) = store.put([stated("walrus", review="proposed")], THEN)
    store.rewrite(stored.id, stated("seal", author="ben", review="accepted"), THEN + 1)
    other = open_store(space="other")
    results(other, records_by_name(store).values())
    (copy,) = other.newest(Scope(lapsed=True), 5)
    mine = get(store, stored.id)
    assert [getattr(copy, name) for name in NEWER] == [getattr(mine, name) for name in NEWER]
    (line,) = other.history(copy.id)
    assert (line.author, line.before["author"], line.before["review"]) == ("ben", "anna", "proposed")
    assert {one.digest for one in records_by_name(other).values()} == {
        one.digest for one in records_by_name(store).values()
    }


def test_a_record_of_an_earlier_version_takes_nothing_away(store: Store, open_store: Opener) -> None:
    (stored,) = store.put([stated("walrus", expires_ms=THEN + DAY)], THEN)
    ((_name, record),) = records_by_name(store).items()
    assert results(store, [_earlier(record)]) == ["unchanged"]
    retitled = _earlier(record, title="tusks", rev=record.fields["rev"] + 1)
    assert results(store, [replace(retitled, version=LATER)]) == ["updated"]
    item = get(store, stored.id)
    assert (item.title, item.author, item.origin, item.valid_until_ms) == ("tusks", "anna", "person", THEN + DAY)
    rewritten = _earlier(record, body="something else", rev=record.fields["rev"] + 2)
    results(store, [replace(rewritten, version=LATER + 1)])
    item = get(store, stored.id)
    # Nobody knows who said that.
    assert (item.body, item.author, item.expires_ms) == ("something else", None, THEN + DAY)
    other = open_store(space="other")
    assert results(other, [_earlier(record)]) == ["added"]


def test_without_them_a_digest_is_that_of_an_earlier_version(store: Store) -> None:
    store.put([make_draft("walrus")], THEN)
    ((_name, record),) = records_by_name(store).items()
    assert _earlier(record).digest == record.digest


def test_what_does_not_hold_is_found_only_if_asked_for(store: Store, by_words: Words) -> None:
    ended, begins, expired, always = (
        one.id
        for one in store.put(
            [
                replace(make_draft("walrus one"), valid_until_ms=THEN + DAY),
                replace(make_draft("walrus two"), valid_from_ms=THEN + 3 * DAY),
                replace(make_draft("walrus three"), expires_ms=THEN + DAY),
                make_draft("walrus four"),
            ],
            THEN,
        )
    )
    for days, held in ((0, {ended, expired, always}), (2, {always}), (4, {begins, always})):
        store.clock = lambda at=THEN + days * DAY: at  # type: ignore[misc]
        assert set(by_words(store, "walrus")) == held
        assert {item.id for item in store.newest(Scope(), 10)} == held
        assert {item.id for item in store.items_between(Scope(), THEN - 1, THEN + 1, 10)} == held
    assert {item.id for item in store.newest(Scope(lapsed=True), 10)} == {ended, begins, expired, always}
    assert {item.id for item in store.newest(Scope(at_ms=THEN), 10)} == {ended, expired, always}


def test_vectors_of_what_does_not_hold_are_left_out(store: Store) -> None:
    ids = [
        one.id
        for one in store.put(
            [replace(make_draft(f"walrus {n}"), valid_until_ms=THEN + 1 if n < 40 else None) for n in range(45)], THEN
        )
    ]
    store.use_model("tiny", 8)
    jobs = store.claim_jobs("test", 100, THEN, LEASE)
    store.finish_jobs(jobs, np.eye(8, dtype=np.float32)[[0] * len(jobs)], "test")
    found = store.search_vectors(np.eye(8, dtype=np.float32)[0], Scope(), 5)
    assert {hit.item_id for hit in found} == set(ids[40:])


def test_states_of_a_moment_are_those_before_the_first_change_after_it(store: Store) -> None:
    edited, forgotten, same = (one.id for one in store.put([make_draft(t) for t in ("one", "two", "three")], THEN))
    store.rewrite(edited, make_draft("one again"), THEN + 10)
    store.rewrite(edited, make_draft("one more"), THEN + 20)
    store.forget([forgotten], THEN + 10)

    def texts(moment: int) -> dict[int, str | None]:
        return {
            id_: None if item is None else item.body for id_, item in store.states_at(Scope(at_ms=moment), 100).items()
        }

    assert texts(THEN + 5) == {edited: "one", forgotten: "two"}
    assert texts(THEN + 15) == {edited: "one again"}
    assert texts(THEN + 25) == {}
    store.restore([forgotten], THEN + 30)
    assert texts(THEN + 25) == {forgotten: None}
    assert same not in texts(THEN)


def _earlier(record: Record, **changed: object) -> Record:
    """A record as a version tells it that knows none of these fields."""
    fields = {name: value for name, value in record.fields.items() if name not in NEWER}
    return replace(record, fields={**fields, **changed})
