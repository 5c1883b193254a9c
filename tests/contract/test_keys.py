"""Keys in the store: found by how they begin, revoked for good, and of one space."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from tests.contract.conftest import THEN, Opener, make_draft

from commonplace.model import Key
from commonplace.store.protocol import Store


def key(name: str = "laptop", prefix: str = "sk-sekha-0", project: str | None = None) -> Key:
    return Key(0, name, prefix, "write", project, THEN, THEN + 1000)


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def test_a_key_is_kept_as_it_was_made(store: Store, neighbour: Store) -> None:
    made = store.add_key(key(), digest("a"))
    assert made == replace(key(), id=made.id)
    assert neighbour.all_keys() == [made]


def test_keys_are_listed_in_the_order_they_were_made(store: Store) -> None:
    made = [store.add_key(key(name), digest(name)) for name in ("b", "a", "c")]
    assert store.all_keys() == made


def test_a_key_is_found_by_how_it_begins_and_only_so(store: Store, neighbour: Store) -> None:
    one = store.add_key(key("one", "sk-sekha-1"), digest("one"))
    two = store.add_key(key("two", "sk-sekha-2"), digest("two"))
    again = store.add_key(key("again", "sk-sekha-2"), digest("again"))
    assert neighbour.keys_with_prefix("sk-sekha-1") == [(one, digest("one"))]
    assert sorted(neighbour.keys_with_prefix("sk-sekha-2"), key=lambda found: found[0].id) == [
        (two, digest("two")),
        (again, digest("again")),
    ]
    for prefix in ("", "sk-sekha-", "sk-sekha-12", "SK-SEKHA-1", "%", "_"):
        assert store.keys_with_prefix(prefix) == []


def test_a_key_is_revoked_once_and_stays_so(store: Store, neighbour: Store) -> None:
    made = store.add_key(key(), digest("a"))
    other = store.add_key(key("other"), digest("b"))
    revoked = store.revoke_key(made.id, THEN + 5)
    assert revoked == replace(made, revoked_ms=THEN + 5)
    assert store.revoke_key(made.id, THEN + 9) == revoked
    assert neighbour.all_keys() == [revoked, other]
    assert store.revoke_key(other.id + 100, THEN) is None


def test_the_last_use_of_a_key_is_kept(store: Store, neighbour: Store) -> None:
    made, other = (store.add_key(key(name), digest(name)) for name in "ab")
    store.touch_key(made.id, THEN + 7)
    assert neighbour.all_keys() == [replace(made, used_ms=THEN + 7), other]


def test_a_visit_stays_ended_until_it_would_have_been_over(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    here.end_login(digest("long"), THEN + 100, THEN)
    here.end_login(digest("short"), THEN + 10, THEN)
    here.end_login(digest("short"), THEN + 10, THEN)
    assert here.is_login_ended(digest("long")) and here.is_login_ended(digest("short"))
    assert not here.is_login_ended(digest("other")) and not there.is_login_ended(digest("long"))
    there.end_login(digest("other"), THEN + 1000, THEN + 50)
    here.end_login(digest("other"), THEN + 1000, THEN + 50)
    assert here.is_login_ended(digest("long")) and not here.is_login_ended(digest("short"))


def test_the_project_of_a_key_is_made_and_follows_its_name(store: Store) -> None:
    made = store.add_key(key(project="my-api"), digest("a"))
    assert (made.project, store.find_project("my-api")) == ("my-api", "my-api")
    # A longer name that arrives becomes the canonical one.
    store.add_key(key(project="github.com/acme/my-api"), digest("b"))
    assert [one.project for one in store.all_keys()] == ["github.com/acme/my-api"] * 2


def test_keys_of_another_space_are_not_there(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    made = here.add_key(key(), digest("a"))
    assert there.all_keys() == []
    assert there.keys_with_prefix(made.prefix) == []
    assert there.revoke_key(made.id, THEN) is None
    there.touch_key(made.id, THEN)
    assert here.all_keys() == [made]


def test_the_counts_of_a_project_are_its_own(store: Store) -> None:
    store.put([make_draft("one", project="a"), make_draft("two", project="a", kind="observation")], THEN)
    (gone, *_rest) = store.put(
        [make_draft("gone", project="a"), make_draft("b", project="b", session="s"), make_draft("all")], THEN
    )
    store.forget([gone.id], THEN)
    counts = store.counts("a")
    assert {kind: number for kind, number in counts.items.items() if number} == {"memory": 1, "observation": 1}
    assert (counts.projects, counts.sessions, counts.forgotten) == (1, 0, 1)
    assert (counts.passages, counts.vectors, store.counts("b").sessions) == (3, 0, 1)
    assert sum(store.counts("nowhere").items.values()) == store.counts("nowhere").passages == 0
    assert counts.pending <= store.counts().pending
