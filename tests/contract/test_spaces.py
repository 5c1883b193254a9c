"""The directory of spaces: made, listed, limited; where a key and some work lie; no space grows beyond its limits."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.contract.conftest import THEN, Opener, make_draft

from commonplace.errors import NotFound, QuotaExceeded
from commonplace.model import Draft, Key, Scope, SessionDraft, Stream
from commonplace.store.maintenance import CapturedEvent, Limits, SpaceEntry
from commonplace.store.protocol import Store
from commonplace.text.references import references

if TYPE_CHECKING:
    from tests.contract.conftest import Embed, Pointing

TEN = Limits(items=10)


def entry(store: Store, name: str = "default") -> SpaceEntry:
    (found,) = store.spaces(THEN, name)
    return found


def used(store: Store) -> tuple[int, int]:
    here = entry(store)
    return here.items, here.bytes


def counted(store: Store) -> tuple[int, int]:
    """The same, from the items themselves."""
    items = store.newest(Scope(), 1000)
    return len(items), sum(size(item.title, item.body, item.details, item.meta) for item in items)


def size(title: str, body: str, details: object, meta: object) -> int:
    texts = [
        title,
        body,
        *(json.dumps(one or {}, ensure_ascii=False, separators=(",", ":")) for one in (details, meta)),
    ]
    return sum(len(one.encode()) for one in texts)


def talk(key: str = "talk", project: str | None = None) -> SessionDraft:
    return SessionDraft(key, key, "/", "active", 5.0, THEN, project=project)


def message_drafts(*texts: str, key: str = "talk") -> list[Draft]:
    return [make_draft(text, kind="message", type="message", session=key, details={"role": "user"}) for text in texts]


def open_stream(stream: Stream | None) -> Stream:
    assert stream is not None
    return stream


def test_spaces_are_made_once_and_listed_by_name(store: Store, neighbour: Store) -> None:
    assert store.add_space("team", THEN + 1, Limits())
    assert store.add_space("ops", THEN + 2, Limits(5, 1000))
    assert not neighbour.add_space("team", THEN + 3, TEN)
    assert neighbour.spaces(THEN) == [
        SpaceEntry("default", THEN, 0, 0, 0, Limits()),
        SpaceEntry("ops", THEN + 2, 0, 0, 0, Limits(5, 1000)),
        SpaceEntry("team", THEN + 1, 0, 0, 0, Limits()),
    ]
    assert [one.name for one in store.spaces(THEN, "ops")] == ["ops"]
    assert store.spaces(THEN, "nobody") == store.spaces(THEN, "") == []


def test_limits_are_set_and_taken_away(store: Store, neighbour: Store) -> None:
    assert store.set_space_limits("default", Limits(3, 100))
    assert entry(neighbour).limits == Limits(3, 100)
    assert store.set_space_limits("default", Limits())
    assert entry(neighbour).limits == Limits()
    assert not store.set_space_limits("nobody", TEN)


def test_a_store_beside_is_of_the_other_space(store: Store, open_store: Opener) -> None:
    store.add_space("team", THEN, Limits())
    for_space = store.for_space("team")
    (made,) = for_space.put([make_draft("walrus")], THEN)
    assert store.get([made.id]) == {} and store.counts().items.get("memory", 0) == 0
    assert open_store("team").get([made.id])
    # And back, and again after it was closed.
    with closing(for_space.for_space("default")) as back:
        assert back.newest(Scope(), 9) == []
    for_space.close()
    assert store.newest(Scope(), 9) == []
    with closing(store.for_space("team")) as again:
        assert again.get([made.id])
    with pytest.raises(NotFound):
        store.for_space("nobody")


def test_the_spaces_of_a_key_are_told_by_how_it_begins(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    for store, name, prefix in ((here, "a", "sk-1"), (there, "b", "sk-2"), (there, "c", "sk-1"), (there, "d", "sk-1")):
        store.add_key(Key(0, name, prefix, "write", None, THEN), hashlib.sha256(name.encode()).digest())
    for store in (here, there):
        assert sorted(store.spaces_of_key("sk-1")) == ["here", "there"]
        assert store.spaces_of_key("sk-2") == ["there"]
        for prefix in ("", "sk-", "sk-12", "SK-1", "%", "_"):
            assert store.spaces_of_key(prefix) == []


def test_the_keys_that_work_are_counted(store: Store) -> None:
    for name, expires in (("lasting", None), ("short", THEN + 10)):
        store.add_key(Key(0, name, "sk-1", "read", None, THEN, expires), name.encode())
    gone = store.add_key(Key(0, "gone", "sk-1", "read", None, THEN), b"gone")
    assert [entry(store).keys, store.spaces(THEN + 10)[0].keys] == [3, 2]
    store.revoke_key(gone.id, THEN)
    assert entry(store).keys == 2


def test_spaces_wait_for_vectors_and_for_links(open_store: Opener, embed: Embed, pointing: Pointing) -> None:
    here, there, idle = (open_store(name) for name in ("here", "there", "idle"))
    assert list(here.spaces_with_work(THEN)) == []
    there.put([make_draft("walrus")], THEN)
    here.put([make_draft("walrus")], THEN)
    for store in (here, there, idle):
        assert list(store.spaces_with_work(THEN)) == ["here", "there"]
    while there.link(10, references, THEN):
        pass
    assert list(here.spaces_with_work(THEN)) == ["here", "there"], "its vector waits"
    assert list(here.spaces_with_work(THEN, vectors=False)) == ["here"]
    assert embed(there, lambda _passage: pointing(1.0)) == 1
    assert list(here.spaces_with_work(THEN)) == ["here"]
    assert embed(here, lambda _passage: pointing(1.0)) == 1
    assert list(here.spaces_with_work(THEN)) == ["here"], "its links wait"
    while here.link(10, references, THEN):
        pass
    assert list(here.spaces_with_work(THEN)) == []


def test_work_under_a_lease_waits_again_when_the_lease_ends(store: Store) -> None:
    store.put([make_draft("walrus")], THEN)
    while store.link(10, references, THEN):
        pass
    assert store.claim_jobs("one who dies", 10, THEN, 1000)
    assert list(store.spaces_with_work(THEN + 999)) == []
    assert list(store.spaces_with_work(THEN + 1000)) == ["default"]


Grow = Callable[[Store, str], object]


def streamed(store: Store, text: str) -> object:
    name = f"stream_{text}_{len(store.streams(0))}"
    store.start_stream(Stream(name, "note", (), None, "open", THEN, THEN), 10, 0)
    store.append_stream(name, lambda _end: text, open_stream, THEN)
    return store.finalize_stream(name, lambda _stream, statement: make_draft(statement), open_stream, THEN)


def captured(store: Store, text: str) -> object:
    return store.capture_events(
        [talk()], [CapturedEvent(text.encode(), "kept", make_draft(text, session="talk"))], [], THEN
    )


# Every way in which a space gets an item more.
WAYS: dict[str, Grow] = {
    "put": lambda store, text: store.put([make_draft(text)], THEN),
    "stream": streamed,
    "capture": captured,
    "conversation": lambda store, text: store.store_sessions([(talk(text), message_drafts(text, key=text))], THEN),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_beyond_the_limit(store: Store, way: str) -> None:
    store.set_space_limits("default", Limits(items=2))
    grow = WAYS[way]
    grow(store, "one")
    grow(store, "two")
    before = store.newest(Scope(), 9), store.counts().projects, store.streams(0)
    with pytest.raises(QuotaExceeded) as error:
        grow(store, "three")
    assert "2 items" in error.value.message and "spaces limit" in error.value.hint
    assert (store.newest(Scope(), 9), store.counts().projects) == before[:2]
    assert used(store) == counted(store) == (2, used(store)[1])
    # What was said already may be said again, and what is no more makes room.
    grow(store, "two")
    store.forget([before[0][0].id], THEN)
    store.put([make_draft("four")], THEN)
    with pytest.raises(QuotaExceeded):
        store.restore([before[0][0].id], THEN)
    assert store.get([before[0][0].id])[before[0][0].id].forgotten_ms == THEN


def test_a_batch_that_does_not_fit_leaves_nothing(store: Store) -> None:
    store.set_space_limits("default", TEN)
    with pytest.raises(QuotaExceeded):
        store.put([make_draft(f"n {n}", project="p", session="s") for n in range(11)], THEN)
    assert (used(store), store.counts().passages, store.counts().pending, store.projects()) == ((0, 0), 0, 0, [])
    store.put([make_draft(f"n {n}") for n in range(10)], THEN)
    assert used(store) == counted(store)


def test_bytes_are_those_of_what_is_said(store: Store) -> None:
    result = make_draft("wörds", title="é", details={"facts": "ü"}, meta={"n": "😀"})
    (made,) = store.put([result], THEN)
    full = size("é", "wörds", {"facts": "ü"}, {"n": "😀"})
    assert used(store) == (1, full)
    store.set_space_limits("default", Limits(bytes=full + 3))
    assert store.rewrite(made.id, make_draft("wörds", title="éabc", details={"facts": "ü"}, meta={"n": "😀"}), THEN)
    before = store.get([made.id]), store.history(made.id), store.passages_of([made.id])
    with pytest.raises(QuotaExceeded, match="bytes of text"):
        store.rewrite(made.id, make_draft("wörds and more" * 9), THEN)
    assert (store.get([made.id]), store.history(made.id), store.passages_of([made.id])) == before
    with pytest.raises(QuotaExceeded):
        store.put([make_draft("more")], THEN)
    assert used(store) == (1, full + 3)


def test_a_space_that_holds_too_much_by_now_can_shrink(store: Store) -> None:
    one, two, three = store.put([make_draft(f"{name} of some length") for name in ("one", "two", "three")], THEN)
    store.set_space_limits("default", Limits(1, 1))
    store.rewrite(one.id, make_draft("short"), THEN)
    store.supersede(two.id, three.id, THEN)
    with pytest.raises(QuotaExceeded):
        store.restore([two.id], THEN)
    store.forget([three.id, one.id], THEN)
    assert used(store) == counted(store) == (0, 0)


def test_what_an_item_counts_follows_it_everywhere(store: Store) -> None:
    one, two = store.put([make_draft("one", project="a"), make_draft("two", session="s")], THEN)
    store.rewrite(one.id, make_draft("another one", project="b", tags=("t",)), THEN)
    session, _made = store.store_sessions([(talk(), message_drafts("three", "four"))], THEN)[0]
    store.supersede(two.id, one.id, THEN)
    assert used(store) == counted(store)
    store.restore([two.id], THEN)
    store.forget_session(session.id, THEN)
    assert used(store) == counted(store) == (2, used(store)[1])
    store.restore_session(session.id, THEN)
    assert used(store) == counted(store) == (4, used(store)[1])


def test_a_secret_is_cleaned_even_in_a_full_space(store: Store) -> None:
    (made,) = store.put([make_draft("pw x1")], THEN)
    store.set_space_limits("default", Limits(bytes=used(store)[1]))
    store.clean_items([(made.id,)], lambda _item: make_draft("pw [redacted]"))
    assert store.get([made.id])[made.id].body == "pw [redacted]"
    assert used(store) == counted(store)
    with pytest.raises(QuotaExceeded):
        store.put([make_draft("more")], THEN)


def test_the_limit_of_one_space_is_no_limit_of_another(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    here.set_space_limits("here", Limits(0, 0))
    with pytest.raises(QuotaExceeded):
        here.put([make_draft("walrus")], THEN)
    assert there.put([make_draft("walrus")], THEN)
    assert [one.items for one in there.spaces(THEN)] == [0, 1]


def test_writers_at_once_do_not_overshoot(open_store: Opener) -> None:
    stores: Sequence[Store] = [open_store() for _ in range(4)]
    stores[0].set_space_limits("default", Limits(items=30))
    refused: list[str] = []

    def write(store: Store, who: int) -> None:
        for number in range(15):
            try:
                store.put([make_draft(f"{who} {number}")], THEN)
            except QuotaExceeded:
                refused.append(f"{who} {number}")

    writers = [threading.Thread(target=write, args=(store, who)) for who, store in enumerate(stores)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert used(stores[0]) == counted(stores[0]) == (30, used(stores[0])[1])
    assert len(refused) == 30
