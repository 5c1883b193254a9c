"""Streams in the store: chunks in order, checks inside the transaction, one end, and no trace of a failed one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.contract.conftest import THEN, Opener, Words

from commonplace.errors import Conflict
from commonplace.model import Draft, Scope, Stream
from commonplace.store.protocol import Store

Make = Callable[..., Draft]

LONG_AGO = 0


def stream(name: str = "stream_1", *, at: int = THEN, project: str | None = None) -> Stream:
    return Stream(name, "note", ("a", "b"), project, "open", at, at)


def start(store: Store, made: Stream, most: int = 10, idle_before: int = LONG_AGO) -> bool:
    return store.start_stream(made, most, idle_before)


def known(found: Stream | None) -> Stream:
    if found is None or found.status != "open":
        raise Conflict("no open stream")
    return found


def append(store: Store, chunk: str, name: str = "stream_1", now: int = THEN) -> Stream:
    return store.append_stream(name, lambda _end: chunk, known, now)


def test_a_stream_is_kept_as_it_was_started(store: Store, neighbour: Store) -> None:
    assert start(store, stream(project="github.com/acme/my-api"))
    (stored,) = neighbour.streams(LONG_AGO)
    assert stored == stream(project="github.com/acme/my-api")


def test_chunks_are_counted_and_touch_the_stream(store: Store, neighbour: Store) -> None:
    start(store, stream())
    assert append(store, "one ") == replace(stream(), chunks=1, characters=4)
    assert append(neighbour, "zwölf 🦓", now=THEN + 5) == replace(
        stream(), chunks=2, characters=11, touched_ms=THEN + 5
    )


def test_chunks_are_put_together_in_the_order_they_came(store: Store, neighbour: Store, draft: Make) -> None:
    start(store, stream())
    for n in range(25):
        append((store, neighbour)[n % 2], f"{n},")
    seen: list[tuple[Stream, str]] = []

    def made(of: Stream, text: str) -> Draft:
        seen.append((of, text))
        return draft(text, tags=of.tags)

    ended, stored = store.finalize_stream("stream_1", made, known, THEN)
    assert seen == [(ended, "".join(f"{n}," for n in range(25)))]
    assert (ended.chunks, stored.duplicate) == (25, False)
    item = neighbour.get([stored.id])[stored.id]
    assert (item.body, item.tags) == (seen[0][1], ("a", "b"))


def test_what_a_stream_became_is_found_at_once(store: Store, draft: Make, by_words: Words) -> None:
    start(store, stream())
    append(store, "the zebra sleeps")
    assert by_words(store, "zebra") == []
    _, stored = store.finalize_stream("stream_1", lambda _s, text: draft(text), known, THEN)
    assert by_words(store, "zebra") == [stored.id]
    assert store.streams(LONG_AGO) == []


def test_a_failure_while_the_memory_is_made_leaves_the_stream_open(store: Store, draft: Make) -> None:
    start(store, stream())
    append(store, "the zebra sleeps")

    def broken(_stream: Stream, _text: str) -> Draft:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.finalize_stream("stream_1", broken, known, THEN)
    assert store.newest(Scope(), 10) == []
    assert append(store, " now").characters == 20
    _, stored = store.finalize_stream("stream_1", lambda _s, text: draft(text), known, THEN)
    assert store.get([stored.id])[stored.id].body == "the zebra sleeps now"


def test_a_check_sees_the_stream_and_can_refuse_every_step(store: Store, draft: Make) -> None:
    start(store, stream())
    append(store, "x")
    seen: list[Stream | None] = []

    def refuse(found: Stream | None) -> Stream:
        seen.append(found)
        raise Conflict("not now")

    for step in (
        lambda name: store.append_stream(name, lambda _end: "y", refuse, THEN),
        lambda name: store.finalize_stream(name, lambda _s, text: draft(text), refuse, THEN),
        lambda name: store.cancel_stream(name, refuse, THEN),
    ):
        for name in ("stream_1", "stream_2"):
            with pytest.raises(Conflict):
                step(name)
    assert seen == [replace(stream(), chunks=1, characters=1), None] * 3
    assert store.streams(LONG_AGO) == [replace(stream(), chunks=1, characters=1)]


def test_whoever_adds_a_chunk_sees_what_stands_before_it(store: Store, neighbour: Store) -> None:
    start(store, stream())
    seen: list[str] = []

    def letter(end: str) -> str:
        seen.append(end)
        return chr(ord("a") + len(seen) - 1)

    for _ in range(4):
        neighbour.append_stream("stream_1", letter, known, THEN)
    append(store, "x" * 5000 + "the end")
    store.append_stream("stream_1", letter, known, THEN)
    assert seen[:4] == ["", "a", "ab", "abc"]
    assert seen[4].endswith("xxthe end")


def test_an_ended_stream_says_how_it_ended_and_has_no_chunks(store: Store, draft: Make) -> None:
    for name in ("stream_1", "stream_2"):
        start(store, stream(name))
        append(store, name, name)
    store.finalize_stream("stream_1", lambda _s, text: draft(text), known, THEN)
    store.cancel_stream("stream_2", known, THEN)
    seen: list[Stream | None] = []

    def look(found: Stream | None) -> Stream:
        seen.append(found)
        return known(found)

    for name in ("stream_1", "stream_2"):
        with pytest.raises(Conflict):
            store.append_stream(name, lambda _end: "more", look, THEN)
    assert [(one.status, one.chunks) for one in seen if one] == [("finalized", 0), ("cancelled", 0)]
    assert [item.body for item in store.newest(Scope(), 10)] == ["stream_1"]


def test_only_so_many_may_be_open_at_once(store: Store, neighbour: Store) -> None:
    assert start(store, stream("stream_1"), most=2)
    assert start(neighbour, stream("stream_2"), most=2)
    assert not start(store, stream("stream_3"), most=2)
    assert [one.id for one in store.streams(LONG_AGO)] == ["stream_1", "stream_2"]
    store.cancel_stream("stream_1", known, THEN)
    assert start(neighbour, stream("stream_3"), most=2)


def test_an_idle_stream_makes_room_and_loses_its_chunks(store: Store) -> None:
    start(store, stream("stream_1"))
    start(store, stream("stream_2"))
    for name in ("stream_1", "stream_2"):
        append(store, "x", name)
    append(store, "y", "stream_2", now=THEN + 10)
    assert [one.id for one in store.streams(THEN + 1)] == ["stream_2"]
    assert start(store, stream("stream_3", at=THEN + 20), most=2, idle_before=THEN + 1)
    assert {one.id: one.chunks for one in store.streams(LONG_AGO)} == {"stream_1": 0, "stream_2": 2, "stream_3": 0}


def test_streams_of_another_space_are_not_there(open_store: Opener) -> None:
    here, there = open_store("here"), open_store("there")
    start(here, stream("stream_1"), most=1)
    assert there.streams(LONG_AGO) == []
    with pytest.raises(Conflict):
        append(there, "x")
    assert start(there, stream("stream_2", at=THEN + 5), most=1, idle_before=THEN + 5)
    append(here, "x")
    assert start(there, stream("stream_3", at=THEN + 9), most=5, idle_before=THEN + 9)
    assert here.streams(LONG_AGO)[0].chunks == 1


def test_a_rewrite_supersedes_in_the_same_transaction(store: Store, draft: Make) -> None:
    old, new = (stored.id for stored in store.put([draft("old"), draft("new")], THEN))
    store.rewrite(new, draft("newer"), THEN, supersedes=old)
    assert [item.body for item in store.newest(Scope(), 10)] == ["newer"]
    with pytest.raises(Conflict):
        store.rewrite(old, draft("older"), THEN, supersedes=new)
    assert store.get([old])[old].body == "old"
    assert store.get([new])[new].superseded_by is None
