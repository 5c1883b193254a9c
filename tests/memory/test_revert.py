"""Revert: an item says again what it said before; that is a change like any other."""

from __future__ import annotations

import pytest
from tests.conftest import Clock

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one, history
from commonplace.memory.forget import forget, restore
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember
from commonplace.memory.revert import revert
from commonplace.model import Scope


def found(book: Book, question: str) -> list[int]:
    return [hit.item.id for hit in recall(book, question, Scope()).hits]


def test_everything_an_edit_changed_comes_back(book: Book, clock: Clock) -> None:
    first = fetch_one(
        book,
        remember(
            book,
            Note(
                "Use zebra", type="rule", project="p", tags=("a",), meta={"n": 1}, importance=5,
                details={"paths": "src/**", "category": "c"},
            ),
        ).id,
    )  # fmt: skip
    clock.forward(minutes=1)
    edit(
        book,
        first.id,
        Changes("Use lion", type="fact", project="q", tags=(), importance=1, details={"paths": ""}, meta={}),
    )
    clock.forward(minutes=1)
    back = revert(book, first.id)
    for name in ("body", "title", "type", "project", "tags", "importance", "details", "meta", "content_hash", "uid"):
        assert getattr(back, name) == getattr(first, name), name
    assert (back.rev, back.created_ms, back.updated_ms) == (3, first.created_ms, clock.now)
    assert found(book, "zebra") == [first.id] and found(book, "lion") == []


def test_a_revert_can_be_reverted(book: Book) -> None:
    id_ = remember(book, Note("one")).id
    edit(book, id_, Changes("two"))
    assert [revert(book, id_).body for _ in range(4)] == ["one", "two", "one", "two"]
    assert [change.op for change in history(book, id_)] == ["edit"] * 5


def test_any_earlier_revision_can_be_named(book: Book) -> None:
    id_ = remember(book, Note("one")).id
    edit(book, id_, Changes("two"))
    forget(book, [id_])
    restore(book, [id_])
    edit(book, id_, Changes("three"))
    assert {change.rev: change.op for change in history(book, id_)} == {1: "edit", 2: "forget", 3: "restore", 4: "edit"}
    for rev, body in ((1, "one"), (2, "two"), (4, "two"), (3, "two"), (5, "three")):
        assert revert(book, id_, rev).body == body


def test_an_item_that_never_changed_has_nothing_to_go_back_to(book: Book) -> None:
    id_ = remember(book, Note("one")).id
    with pytest.raises(InvalidInput, match="never changed"):
        revert(book, id_)
    forget(book, [id_])
    restore(book, [id_])
    with pytest.raises(InvalidInput, match="never changed"):
        revert(book, id_)


@pytest.mark.parametrize("rev", [0, -1, 2, 99])
def test_a_revision_that_is_not_there_is_told_with_those_that_are(book: Book, rev: int) -> None:
    id_ = remember(book, Note("one")).id
    edit(book, id_, Changes("two"))
    with pytest.raises(NotFound, match=f"no revision {rev} ") as refused:
        revert(book, id_, rev)
    assert refused.value.hint == "It is at 2; earlier ones: 1."
    assert fetch_one(book, id_).body == "two"


def test_a_forgotten_item_is_restored_first(book: Book) -> None:
    id_ = remember(book, Note("one")).id
    edit(book, id_, Changes("two"))
    forget(book, [id_])
    with pytest.raises(NotFound) as refused:
        revert(book, id_)
    assert f"commonplace restore {id_}" in refused.value.hint


def test_a_revert_does_not_make_a_second_one_of_the_same(book: Book) -> None:
    id_ = remember(book, Note("one")).id
    edit(book, id_, Changes("two"))
    other = remember(book, Note("one")).id
    with pytest.raises(Conflict, match=f"Item {other} already says"):
        revert(book, id_)
    assert fetch_one(book, id_).body == "two"


def test_a_reverted_event_is_still_the_same_event(book: Book, clock: Clock) -> None:
    plain = Note("Ran the tests", kind="observation", session="s")
    dated = Note("Ran the tests", kind="observation", session="s", created_ms=clock.now - 1000)
    for note in (plain, dated):
        id_ = remember(book, note).id
        edit(book, id_, Changes("Ran the linter"))
        revert(book, id_)
        again = remember(book, note)
        assert (again.id, again.duplicate) == (id_, True)
