"""What belongs to an item, and what became of it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import Clock

from commonplace.memory.book import Book
from commonplace.memory.conversations import Conversation, Said, keep, opened
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget, restore
from commonplace.memory.graph import link_some
from commonplace.memory.recall import words_sought
from commonplace.memory.related import related
from commonplace.memory.remember import Note, remember
from commonplace.memory.revisions import FieldChange, revisions
from commonplace.memory.staleness import changed_file
from commonplace.memory.supersede import supersede


def test_a_message_stands_between_those_of_its_session(book: Book) -> None:
    kept = keep(book, Conversation("Nine", [Said("user", f"message {n}") for n in range(9)]))
    ids = [item.id for item in opened(book, kept.session.uid)[1]]
    found = related(book, fetch_one(book, ids[4]))
    assert found.session is not None and found.session.label == "Nine"
    assert ([item.id for item in found.before], [item.id for item in found.after]) == (ids[1:4], ids[5:8])
    first = related(book, fetch_one(book, ids[0]))
    assert first.before == () and [item.id for item in first.after] == ids[1:4]


def test_what_was_replaced_and_what_opposes_are_told(book: Book) -> None:
    old, new, other = (
        remember(book, Note(text, type="rule")).id
        for text in (
            "Always use tabs for indentation",
            "Always use spaces for indentation",
            "Never use spaces for indentation",
        )
    )
    supersede(book, old, new)
    here, there = related(book, fetch_one(book, new)), related(book, fetch_one(book, old))
    assert [item.id for item in here.replaced] == [old] and here.replaced_by is None
    assert there.replaced_by is not None and there.replaced_by.id == new and there.linked == ()
    assert [one.item.id for one in here.opposed] == [other]


def test_what_mentions_the_same_file_is_linked_with_its_reason(book: Book, clock: Clock) -> None:
    first = remember(book, Note("Split src/payments/ledger.py in two", type="decision")).id
    clock.forward(minutes=5)
    second = remember(book, Note("src/payments/ledger.py rounds half up", type="fact")).id
    while link_some(book):
        pass
    (link,) = related(book, fetch_one(book, second)).linked
    assert (link.item.id, link.rel, link.relation) == (first, "file", "backward")


def test_each_revision_tells_what_it_changed(book: Book, clock: Clock) -> None:
    id_ = remember(book, Note("Tokens live 15 minutes", type="fact", tags=["auth"])).id
    clock.forward(minutes=1)
    edit(book, id_, Changes(content="Tokens live 30 minutes", tags=["auth", "tokens"]))
    clock.forward(minutes=1)
    forget(book, [id_])
    restore(book, [id_])
    back, gone, changed = revisions(book, id_)
    assert [one.op for one in (back, gone, changed)] == ["restore", "forget", "edit"]
    assert back.changed == gone.changed == ()
    assert set(changed.changed) >= {
        FieldChange("body", "Tokens live 15 minutes", "Tokens live 30 minutes"),
        FieldChange("tags", "auth", "auth, tokens"),
    }
    assert changed.rev == 1 and changed.at_ms == clock.now - 60_000


def test_the_file_that_changed_is_named(book: Book, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x", encoding="utf-8")
    (tmp_path / "b.py").write_text("x", encoding="utf-8")
    then = book.clock()
    os.utime(tmp_path / "a.py", (1, 1))
    note = Note("Seen", kind="observation", details={"files_modified": "a.py, b.py"}, meta={"root": str(tmp_path)})
    item = fetch_one(book, remember(book, note).id)
    assert changed_file(item) == "b.py"
    os.utime(tmp_path / "b.py", (then / 1000 - 60, then / 1000 - 60))
    assert changed_file(item) is None


def test_the_words_of_a_question_are_known_without_its_operators() -> None:
    assert words_sought("redis AND sessions NOT oauth") == words_sought("redis sessions")
    assert "auth*" in words_sought("title:auth* AND x") and "titl" not in words_sought("title:auth* AND x")
    assert words_sought("") == words_sought('"') == frozenset()
