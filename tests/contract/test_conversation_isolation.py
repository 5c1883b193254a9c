"""A conversation is read, found, changed and told in its own space only, also by those who know its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from tests.contract.conftest import THEN, Opener, make_draft

from commonplace.errors import Conflict, NotFound
from commonplace.model import Scope, Session, SessionDraft, SessionScope, Stream, ref
from commonplace.store.maintenance import CapturedEvent
from commonplace.store.protocol import Store

TALK = SessionDraft("talk", "Talk", "/", "active", 1.0, THEN, project="acme", meta={"parent_session": "main"})


@pytest.fixture
def mine(open_store: Opener) -> Store:
    return open_store("mine")


@pytest.fixture
def theirs(open_store: Opener) -> Store:
    return open_store("theirs")


def stored_conversation(store: Store) -> tuple[Session, int]:
    """A conversation and the one message in it."""
    draft = make_draft(
        "walrus", kind="message", type="message", session="talk", meta={"turn": "t", "spawned": ["talk"]}
    )
    ((session, (stored,)),) = store.store_sessions([(TALK, [draft])], THEN)
    return session, stored.id


def test_nobody_reads_across_the_border(mine: Store, theirs: Store) -> None:
    session, item_id = stored_conversation(mine)
    mine.change_session(session.id, {"label": "Changed"}, THEN)
    for spelling in (session.id, session.uid, session.uid[-12:]):
        assert theirs.resolve_session(ref(spelling), "talk") is None
    everywhere, always = SessionScope(empty=True), (0, THEN * 2, 9)
    answers: list[Sequence[object] | Mapping[int, object]] = [
        theirs.get_sessions([session.id]),
        theirs.sessions_of([item_id]),
        theirs.turns([item_id]),
        theirs.messages_of(session.id),
        theirs.session_history(session.id),
        theirs.source_turns("talk"),
        theirs.latest_sessions(everywhere, 9),
        theirs.idle_sessions(THEN + 1, 9.0),
        theirs.sessions_during(Scope(), *always),
        theirs.item_headers(Scope(), *always),
        theirs.sketches(),
        theirs.activity(everywhere, 0),
        theirs.events("0-0-0-0", 9)[0],
    ]
    assert [len(answer) for answer in answers] == [0] * len(answers)
    assert theirs.session_counts(everywhere, 9).sessions == theirs.count_sessions(everywhere) == 0
    assert theirs.session_progress("talk", 9, 9) is None


def test_nobody_changes_across_the_border(mine: Store, theirs: Store) -> None:
    session, _item_id = stored_conversation(mine)
    attempts: list[Callable[[], object]] = [
        lambda: theirs.append_messages(session.id, [make_draft("more", kind="message")], THEN),
        lambda: theirs.change_session(session.id, {"label": "Taken"}, THEN),
        lambda: theirs.forget_session(session.id, THEN),
        lambda: theirs.restore_session(session.id, THEN),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound):
            attempt()
    theirs.touch_session(session.id, THEN)
    theirs.mark_abandoned("talk", {"t"})
    assert theirs.link_sub_agents("main") == 0
    assert mine.get_sessions([session.id])[session.id] == session
    assert [dict(item.meta) for item in mine.messages_of(session.id)] == [{"turn": "t", "spawned": ["talk"]}]


def test_the_same_uid_and_key_are_a_conversation_in_each(mine: Store, theirs: Store) -> None:
    (one, _), (two, _) = stored_conversation(mine), stored_conversation(theirs)
    assert one.id != two.id
    mine.forget_session(one.id, THEN)
    assert [session.id for session in theirs.latest_sessions(SessionScope(), 9)] == [two.id]
    assert mine.latest_sessions(SessionScope(), 9) == []


def test_a_stream_goes_on_only_where_it_began(mine: Store, theirs: Store) -> None:
    def known(found: Stream | None) -> Stream:
        if found is None:
            raise Conflict("There is no such stream.")
        return found

    stream = Stream("stream_1", "note", (), None, "open", THEN, THEN)
    mine.start_stream(stream, 9, 0)
    mine.append_stream("stream_1", lambda _end: "mine", known, THEN)
    with pytest.raises(Conflict):
        theirs.append_stream("stream_1", lambda _end: "theirs", known, THEN)
    with pytest.raises(Conflict):
        theirs.cancel_stream("stream_1", known, THEN)
    assert theirs.start_stream(Stream("stream_2", "note", (), None, "open", THEN, THEN), 1, THEN + 1)
    (found,) = mine.streams(0)
    assert (found.chunks, found.characters) == (1, 4)


def test_events_and_files_are_known_where_they_were_told(mine: Store, theirs: Store) -> None:
    mine.capture_events([TALK], [CapturedEvent(b"1", "kept")], [], THEN)
    mine.save_source_mark("a.jsonl", {"at": 1}, THEN)
    assert (
        theirs.known_events([b"1"]) == set() and theirs.capture_counts() == {} and theirs.source_mark("a.jsonl") is None
    )
