"""Any engine can be cleaned part by part, and forgets what was cleaned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.contract.conftest import THEN, Opener

from commonplace.model import Draft, Item, Stream
from commonplace.store.maintenance import TextRow
from commonplace.store.protocol import Store

Make = Callable[..., Draft]


def all_of(store: Store, part: str, limit: int = 2) -> list[TextRow]:
    found: list[TextRow] = []
    while batch := store.text_rows(part, found[-1].key if found else None, limit):
        assert len(batch) <= limit
        found += batch
    return found


def without(text: str) -> str:
    return text.replace("zebra", "horse")


def test_every_item_is_seen_once_and_only_of_ones_own_space(store: Store, open_store: Opener, draft: Make) -> None:
    stored = store.put([draft(f"zebra {n}", tags=("striped",)) for n in range(5)], THEN)
    open_store("another").put([draft("zebra elsewhere")], THEN)
    store.forget([stored[1].id], THEN)
    holders = all_of(store, "items")
    assert [holder.key for holder in holders] == [(one.id,) for one in stored]
    assert all({"striped"} < set(holder.texts) for holder in holders)
    assert [holder.name for holder in holders][:1] == [f"item {stored[0].id}"]


def test_a_cleaned_item_says_something_else_without_a_history(store: Store, neighbour: Store, draft: Make) -> None:
    live, gone = store.put([draft("a zebra ran"), draft("a zebra stood")], THEN)
    store.forget([gone.id], THEN)

    def redraft(item: Item) -> Draft:
        return draft(without(item.body))

    store.clean_items([(live.id,), (gone.id,)], redraft)
    found = neighbour.get([live.id, gone.id])
    assert [found[one.id].body for one in (live, gone)] == ["a horse ran", "a horse stood"]
    assert found[gone.id].forgotten_ms == THEN
    assert store.history(live.id) == []
    assert store.counts().items == {found[live.id].kind: 1}


def test_two_that_become_the_same_stay_two(store: Store, draft: Make) -> None:
    first, second = store.put([draft("a zebra ran"), draft("a horse ran")], THEN)
    same = store.get([second.id])[second.id].content_hash
    store.clean_items([(first.id,)], lambda _item: replace(draft("a horse ran"), content_hash=same))
    assert {item.body for item in store.get([first.id, second.id]).values()} == {"a horse ran"}


def test_other_parts_are_cleaned_by_their_marks(store: Store, neighbour: Store) -> None:
    for n in range(3):
        store.start_stream(Stream(f"stream_{n}", "note", (f"zebra {n}",), None, "open", THEN, THEN), 10, 0)
        store.append_stream(f"stream_{n}", lambda _end: "zebra crossing", lambda one: one or _missing(), THEN)
    assert len(all_of(store, "chunks")) == len(all_of(store, "streams")) == 3
    for part in ("streams", "chunks"):
        store.clean_text_rows(part, [holder.key for holder in all_of(store, part)], without)
    assert [stream.tags for stream in neighbour.streams(0)] == [("horse 0",), ("horse 1",), ("horse 2",)]
    assert {holder.texts for holder in all_of(store, "chunks")} == {("horse crossing",)}


def test_every_part_can_be_walked_and_wiped(store: Store) -> None:
    assert {"items", "history", "sessions", "streams"} <= set(store.text_parts())
    assert all(all_of(store, part) == [] for part in store.text_parts())
    assert store.erase_deleted()


def _missing() -> Stream:
    raise AssertionError("no stream")
