"""Upkeep: what was lost from the index is found again, from the rows."""

from __future__ import annotations

from tests.behind import behind

from commonplace.memory.book import Book
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember_all
from commonplace.memory.upkeep import complaints, index_state, mend_words
from commonplace.model import Scope


def total(book: Book, query: str) -> int:
    return len(recall(book, query, Scope(), 20).hits)


def test_words_are_mended_in_steps_and_made_anew(book: Book) -> None:
    remember_all(book, [Note(f"Apple number {n}") for n in range(450)])
    assert complaints(book, 10) == () and index_state(book, 10).wordless == 0
    with behind(book.settings) as ask:
        ask(f"DELETE FROM {'words' if book.settings.database_url else 'passages_fts'}")
    assert total(book, "apple") == 0
    assert index_state(book, 10).wordless == 450
    assert mend_words(book) == 450
    assert total(book, "apple") == 20 and index_state(book, 10).wordless == 0
    assert mend_words(book) == 0
    assert mend_words(book, anew=True) == 450
    assert total(book, "apple") == 20
