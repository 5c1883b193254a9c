"""The mark of what a file holds: the same for as long as nothing is changed, and another after every change."""

from __future__ import annotations

from commonplace.config import Settings
from commonplace.memory.book import Book
from commonplace.memory.browse import add_alias
from commonplace.memory.edit import Changes, edit
from commonplace.memory.forget import forget, restore
from commonplace.memory.remember import Note, remember
from commonplace.memory.scrub import wipe
from commonplace.memory.supersede import supersede
from commonplace.store.sqlite.content_mark import content_mark


def keep(book: Book, content: str) -> int:
    return remember(book, Note(kind="memory", type="rule", content=content, project="my-api")).id


def test_whatever_changes_what_is_remembered_changes_the_mark(book: Book, settings: Settings) -> None:
    def mark() -> str:
        found = content_mark(str(settings.database))
        assert found is not None
        return found

    marks = [mark()]
    rule = keep(book, "Amounts are integers of cents.")
    marks.append(mark())
    assert mark() == marks[-1], "looking changes nothing"
    edit(book, rule, Changes(content="Amounts are decimals."))
    marks.append(mark())
    forget(book, [rule])
    marks.append(mark())
    restore(book, [rule])
    marks.append(mark())
    supersede(book, rule, keep(book, "Amounts are in a type of their own."))
    marks.append(mark())
    add_alias(book, "my-api", "the-api")
    marks.append(mark())
    wipe(book)
    marks.append(mark())
    assert len(set(marks)) == len(marks)


def test_a_store_that_cannot_be_asked_has_no_mark(settings: Settings) -> None:
    assert content_mark(str(settings.database)) is None
    settings.data_dir.mkdir()
    settings.database.write_bytes(b"no database" * 1000)
    assert content_mark(str(settings.database)) is None
    assert [path.name for path in settings.data_dir.iterdir()] == [settings.database.name]
