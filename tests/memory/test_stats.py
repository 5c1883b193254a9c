"""Stats: sums over a tree of folders follow everything that happens to conversations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.memory import organise
from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, keep
from commonplace.memory.organise import Arrangement, arrange
from commonplace.memory.stats import stats
from commonplace.text.folders import names_in


def test_moved_forgotten_and_archived_conversations_are_counted_where_they_are(book: Book) -> None:
    session = keep(book, Conversation("T", [Said("user", "two words")], "/a")).session
    arrange(book, session.id, Arrangement(folder="/b/c"))
    assert (stats(book, "/a").counts.sessions, stats(book, "/b").counts.words) == (0, 2)
    arrange(book, session.id, Arrangement(status="archived"))
    assert dict(stats(book).counts.statuses) == {"archived": 1}
    organise.forget(book, session.id)
    assert stats(book).counts.sessions == 0
    organise.restore(book, session.id)
    assert stats(book, "/b/c").counts.messages == 1


def test_bytes_are_the_files_for_everything_and_the_texts_for_a_folder(book: Book) -> None:
    keep(book, Conversation("T", [Said("user", "🦓")], "/a"))
    assert stats(book).bytes == stats(book, "/").bytes == book.store.counts().bytes
    assert stats(book, "/a").bytes == 4


def test_what_is_no_folder_is_refused(book: Book) -> None:
    with pytest.raises(InvalidInput):
        stats(book, " ")


folders = st.lists(st.lists(st.sampled_from(("work", "workshop", "w", "é", "a b")), max_size=3), min_size=1, max_size=6)


@given(trees=folders)
def test_a_folder_counts_its_tree(book: Book, trees: list[list[str]]) -> None:
    root = f"r{abs(hash(repr(trees)))}"
    paths = ["/".join([root, *names]) for names in trees]
    for number, path in enumerate(paths):
        keep(book, Conversation(f"{number}", [Said("user", "x")], path))
    for path in paths:
        names = names_in(path)
        inside = [other for other in paths if names_in(other)[: len(names)] == names]
        assert stats(book, path).counts.sessions == len(inside)
        assert sum(stats(book, path).counts.folders.values()) == len(inside)
