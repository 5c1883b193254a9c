"""What happened is told in order, once, to whoever asks, whichever process did it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from commonplace.errors import InvalidInput
from commonplace.model import Author, Draft, SessionDraft
from commonplace.store.protocol import Store
from commonplace.store.types import Event

from .conftest import THEN, Opener

START = "0-0-0-0"


def events_after(store: Store, after: str, limit: int = 100) -> list[tuple[str, int]]:
    return [(event.what, event.id) for event in store.events(after, limit)[0]]


def test_without_a_mark_the_news_begin_now(store: Store, draft: Callable[..., Draft]) -> None:
    store.put([draft("one")], THEN)
    events, mark = store.events(None, 100)
    assert events == () and store.events(mark, 100) == ([], mark)
    (two,) = store.put([draft("two")], THEN)
    assert events_after(store, mark) == [("item.created", two.id)]


def test_everything_that_happens_to_an_item_is_told(store: Store, draft: Callable[..., Draft]) -> None:
    one, two = (stored.id for stored in store.put([draft("one"), draft("two")], THEN))
    store.rewrite(one, draft("one, changed"), THEN + 1)
    store.forget([one], THEN + 2)
    store.restore([one], THEN + 3)
    store.supersede(one, two, THEN + 4)
    assert events_after(store, START) == [
        *[("item.created", one), ("item.created", two)],
        *[("item.edited", one), ("item.forgotten", one), ("item.restored", one), ("item.superseded", one)],
    ]


def test_an_event_says_what_it_is_about(store: Store, draft: Callable[..., Draft]) -> None:
    store.put([draft("Use zod", type="rule", title="Zod", project="github.com/acme/my-api")], THEN)
    (event,), _mark = store.events(START, 10)
    assert (event.kind, event.type, event.title, event.at_ms) == ("memory", "rule", "Zod", THEN)
    assert event.project == "github.com/acme/my-api" and len(event.uid) == 36


def test_an_event_says_who_did_it(store: Store, draft: Callable[..., Draft]) -> None:
    (stored,) = store.put([replace(draft("Use zod"), author="ada via cursor", origin="agent")], THEN)
    assert [event.author for event in store.events(START, 10)[0]] == ["ada via cursor"]
    changed = replace(draft("Use zod 4"), author="bo", origin="person")
    store.rewrite(stored.id, changed, THEN + 1, by=Author("bo", "person"))
    assert [event.author for event in store.events(START, 10)[0]] == [None, "bo"]


def test_conversations_are_told_as_well(store: Store, draft: Callable[..., Draft]) -> None:
    turns = [draft("hello", kind="message", type="message", session="talk")]
    ((talk, messages),) = store.store_sessions([(SessionDraft("talk", "Talk", "/", "active", 5.0, THEN), turns)], THEN)
    _events, mark = store.events(None, 10)
    store.change_session(talk.id, {"label": "Long talk"}, THEN + 1)
    store.change_session(talk.id, {"project": "my-api"}, THEN + 2)
    store.forget_session(talk.id, THEN + 2)
    assert ("item.moved", messages[0].id) in events_after(store, mark)
    assert ("conversation.created", talk.id) in events_after(store, START)
    received = [event for event in store.events(mark, 10)[0] if event.kind == "conversation"]
    assert [(event.what, event.uid) for event in received] == [
        ("conversation.edited", talk.uid),
        ("conversation.edited", talk.uid),
        ("conversation.forgotten", talk.uid),
    ]


def test_what_was_forgotten_tells_no_title(store: Store, draft: Callable[..., Draft]) -> None:
    (one,) = store.put([draft("secret plan", title="The plan")], THEN)
    store.forget([one.id], THEN)
    assert {event.title for event in store.events(START, 10)[0]} == {""}


def test_one_can_go_on_after_any_event(store: Store, draft: Callable[..., Draft]) -> None:
    ids = [stored.id for stored in store.put([draft(f"thing {n}") for n in range(3)], THEN)]
    store.forget(ids, THEN)
    events, last = store.events(START, 100)
    for n, event in enumerate(events):
        assert store.events(event.mark, 100)[0] == events[n + 1 :]
    assert last == events[-1].mark


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_some_at_a_time_are_all_of_them(store: Store, draft: Callable[..., Draft], limit: int) -> None:
    ids = [stored.id for stored in store.put([draft(f"thing {n}") for n in range(4)], THEN)]
    store.forget(ids, THEN)
    found: list[Event] = []
    mark = START
    while events := store.events(mark, limit)[0]:
        assert len(events) <= limit
        found += events
        mark = events[-1].mark
    assert found == list(store.events(START, 100)[0])


def test_another_process_is_heard(store: Store, neighbour: Store, draft: Callable[..., Draft]) -> None:
    _events, mark = store.events(None, 10)
    (one,) = neighbour.put([draft("from afar")], THEN)
    assert events_after(store, mark) == [("item.created", one.id)]


def test_another_space_is_not_heard(open_store: Opener, draft: Callable[..., Draft]) -> None:
    here, there = open_store("here"), open_store("there")
    (one,) = there.put([draft("theirs")], THEN)
    there.forget([one.id], THEN)
    assert events_after(here, START) == []


@pytest.mark.parametrize("mark", ["", "x", "1-2-3", "1-2-3-4-5", "-1-0-0-0", "1-2-3-" + "9" * 19, "١-٢-٣-٤"])
def test_a_mark_that_is_not_ours_is_refused(store: Store, mark: str) -> None:
    with pytest.raises(InvalidInput):
        store.events(mark, 10)
