"""A session page by page, a word in it, the sessions around it, and a change of it taken back."""

from __future__ import annotations

import pytest

from commonplace.errors import Conflict, InvalidInput
from commonplace.memory import reading
from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, find, keep
from commonplace.memory.organise import Arrangement, arrange, undo
from commonplace.memory.reading import MOST_TEXT, Reading, around, find_in, read, what_is_in
from commonplace.memory.remember import Note, remember
from commonplace.model import Kind, Session

NOW = 1_742_000_000_000


def talk(book: Book, texts: list[str], key: str = "talk", **meta: object) -> Session:
    said = [Said("user", text, NOW + number) for number, text in enumerate(texts)]
    return keep(book, Conversation(key, said, key=key, meta=meta)).session


def numbers(page: Reading) -> list[str]:
    return [item.body for item in page.items]


def test_a_session_is_read_from_its_beginning_to_its_end_and_back(book: Book) -> None:
    session = talk(book, [str(number) for number in range(10)])
    pages = [read(book, session, limit=4)]
    while cursor := pages[-1].later:
        pages.append(read(book, session, after=cursor, limit=4))
    assert [numbers(page) for page in pages] == [list("0123"), list("4567"), list("89")]
    assert pages[0].earlier is None
    assert numbers(read(book, session, before=pages[1].earlier or "", limit=4)) == list("0123")
    end = read(book, session, last=True, limit=4)
    assert numbers(end) == list("6789") and end.later is None and end.earlier
    around_five = read(book, session, at=pages[1].items[1].id, limit=4)
    assert numbers(around_five) == list("2345")
    assert numbers(read(book, session, at=pages[0].items[0].uid, limit=4)) == list("0123")


def test_a_page_ends_before_it_becomes_too_long(book: Book) -> None:
    session = talk(book, ["a" * (MOST_TEXT + 1), "b", "c" * MOST_TEXT, "d"])
    assert [len(text) for text in numbers(read(book, session))] == [MOST_TEXT + 1]
    assert [len(text) for text in numbers(read(book, session, last=True))] == [1]
    assert numbers(read(book, session, last=True)) == ["d"]
    long = read(book, session, after=read(book, session).later or "").items
    assert [item.body for item in long] == ["b"]
    wanted = book.store.messages_of(session.id)[2]
    assert [len(text) for text in numbers(read(book, session, at=wanted.uid))] == [MOST_TEXT]


def test_what_agents_did_stands_between_what_was_said(book: Book) -> None:
    session = talk(book, ["ask", "answer"])
    kinds: tuple[Kind, ...] = ("observation", "summary")
    for number, kind in enumerate(kinds):
        remember(book, Note(f"{kind} made", kind=kind, session="talk", created_ms=NOW + number))
    assert [item.kind for item in read(book, session).items] == ["message", "observation", "message", "summary"]
    assert what_is_in(book, [session]) == {session.id: {"message": 2, "observation": 1, "summary": 1}}
    remember(book, Note("alone", kind="observation", session="no-words", created_ms=NOW))
    assert numbers(read(book, find(book, "no-words"))) == ["alone"]


def test_words_are_found_in_one_session_only_in_their_order(book: Book) -> None:
    session = talk(book, ["the queue is slow", "nothing", "make the queue quick", "the queue is slow"])
    talk(book, ["another queue"], "other")
    assert [item.body for item in find_in(book, session, "queue")] == [
        "the queue is slow",
        "make the queue quick",
        "the queue is slow",
    ]
    assert find_in(book, session, "zebra") == []


def test_sessions_around_a_session(book: Book) -> None:
    first = talk(book, ["one"], "first")
    agent = talk(book, ["two"], "agent", parent_session="first")
    after = talk(book, ["three"], "after", continued_from="first")
    lost = talk(book, ["four"], "lost", continued_from="nobody-knows", parent_session=5)
    assert around(book, first) == reading.Around(None, None, (after,), (agent,))
    assert around(book, after).before == first and around(book, agent).parent == first
    assert around(book, lost) == reading.Around(None, None, (), ())


def test_a_change_is_taken_back_unless_another_came_after_it(book: Book) -> None:
    kept = talk(book, ["one"])
    moved = arrange(book, kept.uid, Arrangement(folder="/elsewhere", status="pinned"))
    back = undo(book, kept.uid, moved.rev)
    assert (back.folder, back.status, back.importance) == (kept.folder, kept.status, kept.importance)
    with pytest.raises(Conflict):
        undo(book, kept.uid, moved.rev)
    with pytest.raises(InvalidInput):
        undo(book, kept.uid, 99)
