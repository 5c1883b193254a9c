"""What a store keeps of what it is given: put, rewrite, forget, restore, supersede, history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from commonplace.errors import CommonplaceError, Conflict, NotFound
from commonplace.model import KINDS, Draft, Kind, Passage, Scope, ref
from commonplace.store.protocol import Store

if TYPE_CHECKING:
    from tests.contract.conftest import Opener, Words

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
EVERYWHERE = Scope()


def live(store: Store, scope: Scope = EVERYWHERE) -> list[int]:
    return [item.id for item in store.newest(scope, 1000)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_comes_back_as_it_was_put(store: Store, draft: Make, kind: Kind) -> None:
    given = draft(
        "We retry with backoff.",
        kind=kind,
        type="decision",
        title="Retries",
        project="github.com/acme/my-api",
        session="s-1",
        tags=("network", "api"),
        details={"subtitle": "how", "next_steps": "none"},
        meta={"root": "/srv", "n": [1, None, {"a": "ä"}]},
        importance=7.5,
    )
    (stored,) = store.put([given], NOW + 5)
    item = store.get([stored.id])[stored.id]
    assert (item.id, item.uid, stored.duplicate) == (stored.id, stored.uid, False)
    assert (item.kind, item.type, item.title, item.body) == (kind, "decision", "Retries", "We retry with backoff.")
    assert (item.project, item.session, sorted(item.tags)) == ("github.com/acme/my-api", "s-1", ["api", "network"])
    assert (dict(item.details), dict(item.meta)) == (dict(given.details), dict(given.meta))
    assert (item.importance, item.status, item.tokens) == (7.5, "active", given.tokens)
    assert (item.created_ms, item.updated_ms, item.rev) == (given.created_ms, NOW + 5, 1)
    assert item.content_hash == given.content_hash
    assert item.forgotten_ms is None and item.superseded_by is None


def test_a_batch_is_stored_in_its_order(store: Store, draft: Make) -> None:
    stored = store.put([draft(f"thing {n}") for n in range(5)], NOW)
    assert [s.id for s in stored] == sorted(s.id for s in stored)
    bodies = {item.id: item.body for item in store.get(s.id for s in stored).values()}
    assert [bodies[s.id] for s in stored] == [f"thing {n}" for n in range(5)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda good: replace(good, kind="nonsense"),
        lambda good: replace(good, passages=(Passage(0, "a"), Passage(0, "b"))),
        lambda good: replace(good, body="lone \ud800 surrogate"),
        lambda good: replace(good, project="   "),
    ],
    ids=["unknown kind", "passages that collide", "text that cannot be stored", "project without a name"],
)
def test_one_bad_draft_in_a_batch_leaves_nothing_behind(
    store: Store, draft: Make, by_words: Words, spoil: Callable[[Draft], Draft]
) -> None:
    (stored,) = store.put([draft("kept earlier")], NOW)
    before = store.counts()
    with pytest.raises((CommonplaceError, UnicodeError)):
        store.put([draft("walrus one", project="p", session="s"), spoil(draft("walrus two"))], NOW)
    assert live(store) == [stored.id]
    assert by_words(store, "walrus") == []
    after = store.counts()
    assert replace(after, bytes=0) == replace(before, bytes=0)
    assert store.projects() == []
    (again,) = store.put([draft("walrus one")], NOW)
    assert again.id > stored.id and not again.duplicate


def test_nothing_put_is_nothing_stored(store: Store) -> None:
    assert store.put([], NOW) == []
    assert live(store) == []


def test_the_same_content_in_the_same_place_is_one_item(store: Store, draft: Make, by_words: Words) -> None:
    (first,) = store.put([draft("say it once", project="p")], NOW)
    again = store.put([draft("say it once", project="p"), draft("say it once", project="P")], NOW + 1)
    assert [(s.id, s.uid, s.duplicate) for s in again] == [(first.id, first.uid, True)] * 2
    assert by_words(store, "say AND once") == [first.id]
    assert store.counts().passages == 1
    assert store.get([first.id])[first.id].rev == 1


def test_the_same_content_twice_in_one_batch_is_one_item(store: Store, draft: Make) -> None:
    one, two = store.put([draft("twin"), draft("twin")], NOW)
    assert (one.id, one.duplicate, two.duplicate) == (two.id, False, True)


def test_the_same_content_elsewhere_is_another_item(store: Store, draft: Make) -> None:
    places = [
        draft("same words"),
        draft("same words", project="a"),
        draft("same words", project="b"),
        draft("same words", kind="observation", session="one"),
        draft("same words", kind="observation", session="two"),
    ]
    stored = store.put(places, NOW)
    assert len({s.id for s in stored}) == len(places)
    assert not any(s.duplicate for s in stored)


def test_a_project_under_another_name_is_the_same_place(store: Store, draft: Make) -> None:
    (long,) = store.put([draft("one place", project="github.com/acme/my-api")], NOW)
    (short,) = store.put([draft("one place", project="My-API")], NOW)
    assert (short.id, short.duplicate) == (long.id, True)


def test_saying_again_what_was_forgotten_brings_it_back(store: Store, draft: Make, by_words: Words) -> None:
    (first,) = store.put([draft("forget the walrus")], NOW)
    store.forget([first.id], NOW + 1)
    (again,) = store.put([draft("forget the walrus")], NOW + 2)
    assert (again.id, again.duplicate) == (first.id, True)
    assert by_words(store, "walrus") == [first.id]
    assert store.get([first.id])[first.id].forgotten_ms is None


def test_saying_again_what_was_superseded_brings_it_back(store: Store, draft: Make, by_words: Words) -> None:
    old, new = store.put([draft("we use redis"), draft("we use valkey")], NOW)
    store.supersede(old.id, new.id, NOW + 1)
    (again,) = store.put([draft("we use redis")], NOW + 2)
    assert (again.id, again.duplicate) == (old.id, True)
    assert by_words(store, "redis") == [old.id]


def test_ids_are_never_used_again(store: Store, draft: Make, open_store: Opener) -> None:
    seen: set[int] = set()
    for n in range(4):
        (stored,) = store.put([draft(f"number {n}")], NOW)
        assert stored.id not in seen
        seen.add(stored.id)
        store.forget([stored.id], NOW)
        with pytest.raises((CommonplaceError, UnicodeError)):
            store.put([draft(f"lost {n}"), draft("\ud800")], NOW)
    again = open_store()
    (last,) = again.put([draft("after opening anew")], NOW)
    assert last.id > max(seen)


def test_an_item_may_bring_its_own_uid_but_not_that_of_another(store: Store, draft: Make) -> None:
    uid = "01959a12-0000-7000-8000-0123456789ab"
    (stored,) = store.put([draft("imported", uid=uid)], NOW)
    assert stored.uid == uid
    (same,) = store.put([draft("imported", uid=uid)], NOW)
    assert (same.id, same.duplicate) == (stored.id, True)
    with pytest.raises(Conflict):
        store.put([draft("something else", uid=uid)], NOW)
    assert live(store) == [stored.id]


def test_rewriting_replaces_content_and_keeps_identity_and_birth(store: Store, draft: Make, by_words: Words) -> None:
    (stored,) = store.put([draft("old walrus", title="Old", tags=("t",), session="s")], NOW)
    item = store.rewrite(stored.id, draft("new penguin", title="New", type="rule", importance=3.0), NOW + 9)
    assert item == store.get([stored.id])[stored.id]
    assert (item.id, item.uid, item.created_ms, item.updated_ms) == (stored.id, stored.uid, NOW, NOW + 9)
    assert (item.title, item.body, item.type, item.tags, item.importance) == ("New", "new penguin", "rule", (), 3.0)
    assert (item.rev, item.session) == (2, "s")
    assert by_words(store, "walrus") == []
    assert by_words(store, "penguin") == [stored.id]
    assert by_words(store, "penguin", Scope(types=("rule",))) == [stored.id]
    assert by_words(store, "penguin", Scope(types=("note",))) == []


def test_rewriting_moves_an_item_between_projects(store: Store, draft: Make, by_words: Words) -> None:
    moved, *_rest = store.put([draft("walrus", project="a"), draft("other", project="a"), draft("b", project="b")], NOW)
    store.rewrite(moved.id, draft("walrus", project="b"), NOW)
    assert store.get([moved.id])[moved.id].project == "b"
    assert by_words(store, "walrus", Scope(project="a")) == []
    assert by_words(store, "walrus", Scope(project="b")) == [moved.id]
    assert {p.name: p.items for p in store.projects()} == {"a": 1, "b": 2}
    store.rewrite(moved.id, draft("walrus"), NOW)
    assert store.get([moved.id])[moved.id].project is None
    assert by_words(store, "walrus", Scope(only_global=True)) == [moved.id]


def test_rewriting_with_an_old_revision_is_refused(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft("first")], NOW)
    store.rewrite(stored.id, draft("second"), NOW, expect_rev=1)
    with pytest.raises(Conflict):
        store.rewrite(stored.id, draft("third"), NOW, expect_rev=1)
    assert store.get([stored.id])[stored.id].body == "second"
    assert len(store.history(stored.id)) == 1


def test_rewriting_into_what_another_item_says_is_refused(store: Store, draft: Make, by_words: Words) -> None:
    one, two = store.put([draft("alpha", project="p"), draft("beta", project="p")], NOW)
    with pytest.raises(Conflict):
        store.rewrite(two.id, draft("alpha", project="p"), NOW)
    assert by_words(store, "beta") == [two.id]
    assert store.history(two.id) == []
    store.rewrite(two.id, draft("alpha", project="q"), NOW)
    assert store.get([two.id])[two.id].project == "q"
    assert sorted(by_words(store, "alpha")) == [one.id, two.id]


def test_rewriting_without_a_change_is_no_conflict_with_itself(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft("same", project="p")], NOW)
    assert store.rewrite(stored.id, draft("same", project="p"), NOW + 1).rev == 2


def test_an_item_cannot_become_another_kind(store: Store, draft: Make) -> None:
    (stored,) = store.put([draft("a statement")], NOW)
    with pytest.raises(Conflict):
        store.rewrite(stored.id, draft("a statement", kind="message"), NOW)
    assert store.get([stored.id])[stored.id].kind == "memory"
    assert dict(store.counts().items) == {"memory": 1}


def test_a_forgotten_item_leaves_every_answer_but_its_own_record(store: Store, draft: Make, by_words: Words) -> None:
    gone, stored = store.put([draft("walrus", project="p"), draft("walrus too", project="p", at=NOW + 1)], NOW)
    assert store.forget([gone.id], NOW + 5) == [gone.id]
    assert live(store) == live(store, Scope(project="p")) == [stored.id]
    assert by_words(store, "walrus") == by_words(store, "walrus NOT penguin") == [stored.id]
    anchor = store.get([stored.id])[stored.id]
    assert [item.id for item in store.around(anchor, 5, 5, Scope())] == [stored.id]
    assert store.get([gone.id])[gone.id].forgotten_ms == NOW + 5
    counts = store.counts()
    assert (counts.items["memory"], counts.forgotten, counts.pending) == (1, 1, 1)
    assert [p.items for p in store.projects()] == [1]


def test_forgetting_and_restoring_twice_changes_nothing(store: Store, draft: Make, by_words: Words) -> None:
    (stored,) = store.put([draft("walrus")], NOW)
    assert store.restore([stored.id], NOW) == []
    assert store.forget([stored.id, stored.id], NOW) == [stored.id]
    assert store.forget([stored.id], NOW + 1) == []
    assert store.get([stored.id])[stored.id].forgotten_ms == NOW
    assert store.restore([stored.id], NOW) == [stored.id]
    assert store.restore([stored.id], NOW) == []
    assert by_words(store, "walrus") == [stored.id]
    assert dict(store.counts().items) == {"memory": 1}


@pytest.mark.parametrize("verb", ["forget", "restore"])
def test_an_unknown_id_among_others_undoes_the_whole_call(store: Store, draft: Make, verb: str) -> None:
    one, two = store.put([draft("one"), draft("two")], NOW)
    store.forget([two.id], NOW)
    with pytest.raises(NotFound):
        getattr(store, verb)([one.id, two.id, 9999], NOW)
    assert live(store) == [one.id]


def test_a_restored_item_is_cut_and_found_as_before(store: Store, draft: Make, by_words: Words) -> None:
    (stored,) = store.put([draft(parts=["alpha walrus", "beta penguin"], title="Animals", tags=("zoo",))], NOW)
    before = store.passages_of([stored.id])
    store.forget([stored.id], NOW)
    store.restore([stored.id], NOW)
    assert store.passages_of([stored.id]) == before
    for query in ("alpha AND penguin", "tags:zoo", "title:animals", "penguin"):
        assert by_words(store, query) == [stored.id], query


def test_what_was_rewritten_while_forgotten_comes_back_new(store: Store, draft: Make, by_words: Words) -> None:
    (stored,) = store.put([draft("old walrus", project="a")], NOW)
    store.forget([stored.id], NOW)
    store.rewrite(stored.id, draft("new penguin", project="b"), NOW)
    assert by_words(store, "penguin") == []
    assert store.pending() == 0
    assert sum(store.counts().items.values()) == 0
    store.restore([stored.id], NOW)
    assert by_words(store, "penguin", Scope(project="b")) == [stored.id]
    assert by_words(store, "walrus") == []
    assert {p.name: p.items for p in store.projects()} == {"a": 0, "b": 1}


def test_a_superseded_item_gives_way_and_can_come_back(store: Store, draft: Make, by_words: Words) -> None:
    old, new = store.put([draft("walrus old"), draft("walrus new")], NOW)
    store.supersede(old.id, new.id, NOW + 1)
    assert by_words(store, "walrus") == live(store) == [new.id]
    assert store.get([old.id])[old.id].superseded_by == new.id
    assert (store.superseded(new.id), store.superseded(old.id)) == ([old.id], [])
    assert dict(store.counts().items) == {"memory": 1}
    store.supersede(old.id, new.id, NOW + 2)
    assert len(store.history(old.id)) == 1
    assert store.restore([old.id], NOW + 3) == [old.id]
    assert sorted(by_words(store, "walrus")) == [old.id, new.id]
    assert dict(store.counts().items) == {"memory": 2}


def test_what_is_both_superseded_and_forgotten_is_counted_once(store: Store, draft: Make, by_words: Words) -> None:
    old, new, newer = store.put([draft("walrus a"), draft("walrus b"), draft("walrus c")], NOW)
    store.supersede(old.id, new.id, NOW)
    store.forget([old.id], NOW)
    store.supersede(old.id, newer.id, NOW)
    assert dict(store.counts().items) == {"memory": 2}
    store.restore([old.id], NOW)
    assert dict(store.counts().items) == {"memory": 3}
    assert len(by_words(store, "walrus")) == 3


def test_what_was_superseded_twice_comes_back_with_the_end_it_said(store: Store, draft: Make) -> None:
    old, new, newer = store.put([replace(draft("a"), valid_until_ms=NOW + 9), draft("b"), draft("c")], NOW)
    store.supersede(old.id, new.id, NOW + 1)
    store.supersede(old.id, newer.id, NOW + 2)
    assert store.get([old.id])[old.id].valid_until_ms == NOW + 1
    store.restore([old.id], NOW + 3)
    assert store.get([old.id])[old.id].valid_until_ms == NOW + 9


def test_items_cannot_supersede_each_other_in_a_circle(store: Store, draft: Make) -> None:
    a, b, c = store.put([draft("a"), draft("b"), draft("c")], NOW)
    with pytest.raises(Conflict):
        store.supersede(a.id, a.id, NOW)
    store.supersede(a.id, b.id, NOW)
    with pytest.raises(Conflict):
        store.supersede(b.id, a.id, NOW)
    store.supersede(b.id, c.id, NOW)
    with pytest.raises(Conflict):
        store.supersede(c.id, a.id, NOW)
    assert live(store) == [c.id]


def test_superseding_needs_both_items(store: Store, draft: Make) -> None:
    (one,) = store.put([draft("one")], NOW)
    for pair in ((one.id, 999), (999, one.id)):
        with pytest.raises(NotFound):
            store.supersede(*pair, NOW)
    assert live(store) == [one.id]


def test_rewriting_what_does_not_exist_is_an_error(store: Store, draft: Make) -> None:
    with pytest.raises(NotFound):
        store.rewrite(1, draft("nothing there", project="p"), NOW)
    assert store.projects() == []


def test_history_tells_what_an_item_was_before_each_change(store: Store, draft: Make) -> None:
    one, two = store.put([draft("first", title="One", tags=("a", "b"), project="p"), draft("other")], NOW)
    store.rewrite(one.id, draft("second", title="Two"), NOW + 1)
    store.forget([one.id], NOW + 2)
    store.restore([one.id], NOW + 3)
    store.supersede(one.id, two.id, NOW + 4)
    changes = store.history(one.id)
    assert [(c.op, c.rev, c.at_ms) for c in changes] == [
        ("edit", 1, NOW + 1),
        ("forget", 2, NOW + 2),
        ("restore", 3, NOW + 3),
        ("supersede", 4, NOW + 4),
    ]
    first = changes[0].before
    assert (first["body"], first["title"], first["project"], first["tags"]) == ("first", "One", "p", ["a", "b"])
    assert [c.before["body"] for c in changes[1:]] == ["second"] * 3
    assert changes[2].before["forgotten_ms"] == NOW + 2
    assert store.history(two.id) == store.history(999) == []


def test_a_session_belongs_to_the_project_first_named_in_it(store: Store, draft: Make) -> None:
    stored = store.put(
        [
            draft("one", kind="observation", session="s"),
            draft("two", kind="observation", session="s", project="p"),
            draft("three", kind="observation", session="s", project="q"),
        ],
        NOW,
    )
    items = store.get(s.id for s in stored)
    assert [items[s.id].session for s in stored] == ["s"] * 3
    assert [items[s.id].project for s in stored] == [None, "p", "q"]
    assert store.counts().sessions == 1


def test_a_session_far_in_the_future_does_not_spoil_later_uids(store: Store, draft: Make) -> None:
    far = 253_402_300_799_999
    (before,) = store.put([draft("before")], NOW)
    store.put([draft("from the year 9999", kind="message", session="scifi", at=far)], NOW)
    (after,) = store.put([draft("after")], NOW + 60_000)
    born = [int(uid[:8] + uid[9:13], 16) for uid in (before.uid, after.uid)]
    # Other tests of this process may have moved its uids on to the real time.
    assert born[0] <= born[1] < max(NOW, born[0]) + 3_600_000
    assert store.resolve([ref(after.uid)]) == [after.id]
