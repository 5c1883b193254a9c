"""An export has every conversation, also those that move while it is made."""

from __future__ import annotations

import pytest

from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, append, keep, keep_all
from commonplace.memory.export import export_data, whole_conversations
from commonplace.model import SessionScope

NOW = 1_742_049_000_000


@pytest.fixture
def many(book: Book) -> list[str]:
    """More conversations than are read at once, the newest first."""
    talks = [Conversation(f"talk {n}", [Said("user", f"words {n}", NOW + n)]) for n in range(450)]
    kept = keep_all(book, talks)
    return [one.session.uid for one in reversed(kept)]


def test_every_conversation_comes_once_the_newest_first(book: Book, many: list[str]) -> None:
    assert [session.uid for session, _messages in whole_conversations(book, SessionScope())] == many
    assert list(whole_conversations(book, SessionScope(folder="/nowhere"))) == []


def test_one_that_gets_a_message_meanwhile_is_not_missed(book: Book, many: list[str]) -> None:
    exported: list[tuple[str, int]] = []
    for session, messages in whole_conversations(book, SessionScope()):
        if not exported:
            append(book, many[-1], [Said("user", "one more", NOW + 1000)])
        exported.append((session.uid, len(messages)))
    assert len(exported) == len(many) and dict(exported).keys() == set(many)
    assert exported[-1] == (many[-1], 2)


def test_only_what_was_said(book: Book) -> None:
    keep(book, Conversation("talk", [Said("user", "words", NOW, {"model": "m"})]))
    ((session, messages),) = whole_conversations(book, SessionScope())
    bare = export_data(session, messages, metadata=False)
    assert bare.keys() == {"id", "label", "folder", "messages"}
