"""A session page by page, a word in it, the sessions around it, and a change of it taken back."""

from __future__ import annotations

import pytest

from commonplace.errors import Conflict, InvalidInput
from commonplace.memory import sessions
from commonplace.memory.conversations import (
    ConversationChanges,
    NewConversation,
    NewMessage,
    find_session,
    store_conversation,
    undo_conversation_change,
    update_conversation,
)
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.sessions import (
    MAX_PAGE_TEXT,
    SessionItems,
    kinds_in_sessions,
    read_session,
    related_sessions,
    search_session,
)
from commonplace.model import Kind, Session

NOW = 1_742_000_000_000


def talk(memory: LocalMemory, texts: list[str], key: str = "talk", **meta: object) -> Session:
    messages = [NewMessage("user", text, NOW + number) for number, text in enumerate(texts)]
    return store_conversation(memory, NewConversation(key, messages, key=key, meta=meta)).session


def numbers(page: SessionItems) -> list[str]:
    return [item.body for item in page.items]


def test_a_session_is_read_from_its_beginning_to_its_end_and_back(memory: LocalMemory) -> None:
    session = talk(memory, [str(number) for number in range(10)])
    pages = [read_session(memory, session, limit=4)]
    while cursor := pages[-1].later:
        pages.append(read_session(memory, session, after=cursor, limit=4))
    assert [numbers(page) for page in pages] == [list("0123"), list("4567"), list("89")]
    assert pages[0].earlier is None
    assert numbers(read_session(memory, session, before=pages[1].earlier or "", limit=4)) == list("0123")
    end = read_session(memory, session, last=True, limit=4)
    assert numbers(end) == list("6789") and end.later is None and end.earlier
    around_five = read_session(memory, session, at=pages[1].items[1].id, limit=4)
    assert numbers(around_five) == list("2345")
    assert numbers(read_session(memory, session, at=pages[0].items[0].uid, limit=4)) == list("0123")


def test_a_page_ends_before_it_becomes_too_long(memory: LocalMemory) -> None:
    session = talk(memory, ["a" * (MAX_PAGE_TEXT + 1), "b", "c" * MAX_PAGE_TEXT, "d"])
    assert [len(text) for text in numbers(read_session(memory, session))] == [MAX_PAGE_TEXT + 1]
    assert [len(text) for text in numbers(read_session(memory, session, last=True))] == [1]
    assert numbers(read_session(memory, session, last=True)) == ["d"]
    long = read_session(memory, session, after=read_session(memory, session).later or "").items
    assert [item.body for item in long] == ["b"]
    wanted = memory.store.messages_of(session.id)[2]
    assert [len(text) for text in numbers(read_session(memory, session, at=wanted.uid))] == [MAX_PAGE_TEXT]


def test_what_agents_did_stands_between_what_was_said(memory: LocalMemory) -> None:
    session = talk(memory, ["ask", "answer"])
    kinds: tuple[Kind, ...] = ("observation", "summary")
    for number, kind in enumerate(kinds):
        remember(memory, NewItem(f"{kind} made", kind=kind, session="talk", created_ms=NOW + number))
    assert [item.kind for item in read_session(memory, session).items] == [
        "message",
        "observation",
        "message",
        "summary",
    ]
    assert kinds_in_sessions(memory, [session]) == {session.id: {"message": 2, "observation": 1, "summary": 1}}
    remember(memory, NewItem("alone", kind="observation", session="no-words", created_ms=NOW))
    assert numbers(read_session(memory, find_session(memory, "no-words"))) == ["alone"]


def test_words_are_found_in_one_session_only_in_their_order(memory: LocalMemory) -> None:
    session = talk(memory, ["the queue is slow", "nothing", "make the queue quick", "the queue is slow"])
    talk(memory, ["another queue"], "other")
    assert [item.body for item in search_session(memory, session, "queue")] == [
        "the queue is slow",
        "make the queue quick",
        "the queue is slow",
    ]
    assert search_session(memory, session, "zebra") == []


def test_sessions_around_a_session(memory: LocalMemory) -> None:
    first = talk(memory, ["one"], "first")
    agent = talk(memory, ["two"], "agent", parent_session="first")
    after = talk(memory, ["three"], "after", continued_from="first")
    lost = talk(memory, ["four"], "lost", continued_from="nobody-knows", parent_session=5)
    assert related_sessions(memory, first) == sessions.RelatedSessions(None, None, (after,), (agent,))
    assert related_sessions(memory, after).before == first and related_sessions(memory, agent).parent == first
    assert related_sessions(memory, lost) == sessions.RelatedSessions(None, None, (), ())


def test_a_change_is_taken_back_unless_another_came_after_it(memory: LocalMemory) -> None:
    stored = talk(memory, ["one"])
    moved = update_conversation(memory, stored.uid, ConversationChanges(folder="/elsewhere", status="pinned"))
    back = undo_conversation_change(memory, stored.uid, moved.rev)
    assert (back.folder, back.status, back.importance) == (stored.folder, stored.status, stored.importance)
    with pytest.raises(Conflict):
        undo_conversation_change(memory, stored.uid, moved.rev)
    with pytest.raises(InvalidInput):
        undo_conversation_change(memory, stored.uid, 99)
