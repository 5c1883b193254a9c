"""Export: whole numbers without a point, titles where there are some, and nothing of what was forgotten."""

from __future__ import annotations

import pytest

from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, keep, opened
from commonplace.memory.export import export_data, export_markdown, score
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember


@pytest.mark.parametrize(("given", "shown"), [(9.0, "9"), (0.0, "0"), (7.5, "7.5"), (10.0, "10")])
def test_an_importance_is_shown_as_people_write_it(given: float, shown: str) -> None:
    assert str(score(given)) == shown


def test_a_session_that_nobody_named_is_headed_by_its_agents_name_for_it(book: Book) -> None:
    remember(book, Note("Hello", kind="message", session="chat-7", details={"role": "assistant"}))
    text = export_markdown(*opened(book, "chat-7"))
    assert text.startswith("# chat-7\n\n**Folder:** /  \n**Importance:** 5/10  \n")
    assert text.endswith("**Assistant** (2025-03-15 14:30:00):  \nHello\n")


def test_what_was_forgotten_is_not_exported(book: Book) -> None:
    session = keep(book, Conversation("T", [Said("user", "stay"), Said("user", "go away")])).session
    forget(book, [opened(book, session.id)[1][1].id])
    exported = export_data(*opened(book, session.id))
    assert ([m["content"] for m in exported["messages"]], exported["message_count"], exported["word_count"]) == (
        ["stay"], 1, 1,
    )  # fmt: skip
    assert "go away" not in export_markdown(*opened(book, session.id))
