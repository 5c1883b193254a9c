"""Several servers write to one space at the same moment: each thing is there once, and nobody is refused for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import TypeVar

import pytest
from tests.contract.conftest import THEN, Opener, make_draft

from commonplace.errors import Conflict
from commonplace.model import Draft, Scope, Session, SessionDraft, SessionScope, Stream, ref
from commonplace.store.maintenance import CapturedEvent
from commonplace.store.protocol import Store

SERVERS = 4
WAIT = 120

T = TypeVar("T")
Work = Callable[[Store, int], T]


@pytest.fixture
def servers(open_store: Opener) -> list[Store]:
    return [open_store() for _ in range(SERVERS)]


def at_once(servers: Sequence[Store], work: Work[T]) -> list[T]:
    """What each server's own thread says, all begun together."""
    begin = Barrier(len(servers), timeout=WAIT)

    def one(number: int) -> T:
        begin.wait()
        return work(servers[number], number)

    with ThreadPoolExecutor(len(servers)) as pool:
        return [future.result(WAIT) for future in [pool.submit(one, n) for n in range(len(servers))]]


def talk(key: str = "talk", project: str | None = "acme") -> SessionDraft:
    return SessionDraft(key, "Talk", "/", "active", 5.0, THEN, project=project)


def message(body: str, key: str = "talk") -> Draft:
    return make_draft(body, kind="message", type="message", session=key, project="acme")


def only_session(store: Store) -> Session:
    (session,) = store.latest_sessions(SessionScope(), 9)
    return session


def test_a_conversation_kept_at_once_is_one(servers: list[Store]) -> None:
    def keep(store: Store, number: int) -> int:
        messages = [message("said by all"), *(message(f"{number} says {n}") for n in range(3))]
        ((session, _stored),) = store.store_sessions([(talk(), messages)], THEN)
        return session.id

    ids = at_once(servers, keep)
    session = only_session(servers[0])
    assert set(ids) == {session.id} and session.messages == 1 + 3 * SERVERS
    assert len(servers[0].messages_of(session.id)) == session.messages
    assert [project.items for project in servers[0].projects()] == [session.messages]


def test_a_session_first_mentioned_at_once_is_one(servers: list[Store]) -> None:
    at_once(servers, lambda store, n: store.put([message(f"{n} is here")], THEN + n))
    session = only_session(servers[0])
    assert (session.messages, session.project, session.ended_ms) == (SERVERS, "acme", THEN)
    assert servers[1].resolve_session(ref("x"), "talk") == session.id


def test_of_those_who_expect_the_same_revision_one_goes_on(servers: list[Store]) -> None:
    ((stored, _stored),) = servers[0].store_sessions([(talk(), [message("hello")])], THEN)

    def append(store: Store, number: int) -> bool:
        try:
            store.append_messages(stored.id, [message(f"{number} goes on")], THEN, expect_rev=stored.rev)
        except Conflict:
            return False
        return True

    assert sum(at_once(servers, append)) == 1
    assert only_session(servers[0]).messages == 2


def test_an_event_told_at_once_is_taken_once(servers: list[Store]) -> None:
    def capture(store: Store, _number: int) -> list[bool]:
        seen = [make_draft(f"seen {n}", kind="observation", session="talk") for n in range(5)]
        return store.capture_events(
            [talk()], [CapturedEvent(b"%d" % n, "kept", draft) for n, draft in enumerate(seen)], [], THEN
        )

    taken = at_once(servers, capture)
    assert [sum(each) for each in zip(*taken, strict=True)] == [1] * 5
    assert servers[0].capture_counts() == {"kept": 5}
    assert len(servers[0].newest(Scope(), 99)) == 5


def test_chunks_that_come_at_once_are_all_kept(servers: list[Store]) -> None:
    def known(found: Stream | None) -> Stream:
        assert found is not None
        return found

    servers[0].start_stream(Stream("stream_1", "note", (), None, "open", THEN, THEN), 9, 0)
    chunks = [f"<{n}>" for n in range(3 * SERVERS)]

    def append(store: Store, number: int) -> None:
        for chunk in chunks[number::SERVERS]:
            store.append_stream("stream_1", lambda _end, chunk=chunk: chunk, known, THEN)  # type: ignore[misc]

    at_once(servers, append)
    received: list[str] = []

    def final_draft(_stream: Stream, text: str) -> Draft:
        received.append(text)
        return make_draft(text)

    servers[0].finalize_stream("stream_1", final_draft, known, THEN)
    assert sorted(received[0].replace("><", "> <").split()) == sorted(chunks)


def test_no_more_streams_are_started_at_once_than_there_is_room_for(servers: list[Store]) -> None:
    def start(store: Store, number: int) -> bool:
        return store.start_stream(Stream(f"stream_{number}", "note", (), "acme", "open", THEN, THEN), 2, 0)

    assert sum(at_once(servers, start)) == 2
    assert len(servers[0].streams(0)) == 2


def test_a_file_noted_at_once_has_one_mark(servers: list[Store]) -> None:
    at_once(servers, lambda store, n: store.save_source_mark("a.jsonl", {"by": n}, THEN))
    assert servers[0].source_mark("a.jsonl") in [{"by": n} for n in range(SERVERS)]


def test_news_miss_nothing_of_what_many_write(servers: list[Store]) -> None:
    reader, *writers = servers
    written = Event()

    def read_events() -> Iterator[tuple[str, int]]:
        mark = "0-0-0-0"
        while True:
            over = written.is_set()
            events, mark = reader.events(mark, 3)
            yield from ((event.what, event.id) for event in events)
            if over and not events:
                return

    def write(store: Store, number: int) -> list[int]:
        ids = []
        for n in range(8):
            ((session, stored),) = store.store_sessions([(talk(f"{number}.{n}"), [message(f"{number}.{n}")])], THEN)
            store.change_session(session.id, {"label": "Changed"}, THEN)
            ids += [one.id for one in stored]
        return ids

    with ThreadPoolExecutor(1) as pool:
        hearing = pool.submit(lambda: [*read_events()])
        try:
            ids = [id_ for some in at_once(writers, write) for id_ in some]
        finally:
            written.set()
        events = hearing.result(WAIT)
    assert len(events) == len(set(events))
    assert {id_ for what, id_ in events if what == "item.created"} == set(ids)
    assert sum(what == "conversation.edited" for what, _id in events) == len(ids)
