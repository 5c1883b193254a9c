"""Supersede: one item takes the place of another, visibly in history and undone by restoring."""

from __future__ import annotations

import pytest

from commonplace.errors import Conflict, NotFound
from commonplace.memory.book import Book
from commonplace.memory.edit import Changes, edit
from commonplace.memory.fetch import fetch_one, history
from commonplace.memory.forget import forget, restore
from commonplace.memory.recall import recall
from commonplace.memory.remember import Note, remember
from commonplace.memory.supersede import supersede
from commonplace.model import Scope


def made(book: Book, *bodies: str, project: str | None = None) -> list[int]:
    return [remember(book, Note(body, type="rule", project=project)).id for body in bodies]


def live(book: Book) -> set[int]:
    found = {hit.item.id for hit in recall(book, "zebra", Scope()).hits}
    assert found == {item.id for item in book.store.newest(Scope(), 100)}
    assert sum(book.store.counts().items.values()) == len(found)
    return found


def test_the_old_one_leaves_and_can_be_looked_up(book: Book) -> None:
    old, new = made(book, "zebra hay", "zebra oats")
    replaced, replacing = supersede(book, old, by=new)
    assert (replaced.id, replacing.id) == (old, new)
    assert live(book) == {new}
    assert fetch_one(book, old).superseded_by == new
    assert [change.op for change in history(book, old)] == ["supersede"]


def test_superseding_twice_by_the_same_changes_nothing(book: Book) -> None:
    old, new = made(book, "zebra hay", "zebra oats")
    supersede(book, old, by=new)
    supersede(book, old, by=new)
    assert fetch_one(book, old).rev == 2


def test_a_chain_is_fine_and_a_circle_is_not(book: Book) -> None:
    first, second, third = made(book, "zebra one", "zebra two", "zebra three")
    supersede(book, first, by=second)
    supersede(book, second, by=third)
    assert live(book) == {third}
    for old, new in ((third, first), (second, first), (first, first)):
        with pytest.raises(Conflict, match="replace each other"):
            supersede(book, old, by=new)
    assert live(book) == {third}


def test_restoring_undoes_it(book: Book) -> None:
    old, new = made(book, "zebra hay", "zebra oats")
    supersede(book, old, by=new)
    restore(book, [old])
    assert live(book) == {old, new}
    assert fetch_one(book, old).superseded_by is None


def test_it_can_be_superseded_by_another_later(book: Book) -> None:
    old, new, newest = made(book, "zebra one", "zebra two", "zebra three")
    supersede(book, old, by=new)
    supersede(book, old, by=newest)
    assert fetch_one(book, old).superseded_by == newest
    assert live(book) == {new, newest}


def test_the_forgotten_takes_no_part(book: Book) -> None:
    old, new = made(book, "zebra hay", "zebra oats")
    forget(book, [new])
    with pytest.raises(NotFound):
        supersede(book, old, by=new)
    with pytest.raises(NotFound):
        supersede(book, new, by=old)
    assert live(book) == {old}


def test_a_superseded_item_edited_stays_out_until_restored(book: Book) -> None:
    old, new = made(book, "zebra hay", "zebra oats")
    supersede(book, old, by=new)
    edit(book, old, Changes(content="zebra grass"))
    assert live(book) == {new}
    restore(book, [old])
    assert live(book) == {old, new}


def test_one_project_does_not_replace_what_others_follow(book: Book) -> None:
    (everywhere,) = made(book, "zebra hay")
    (ours,) = made(book, "zebra oats", project="p")
    (theirs,) = made(book, "zebra grass", project="q")
    for old in (everywhere, theirs):
        with pytest.raises(Conflict, match="only in p"):
            supersede(book, old, by=ours)
    supersede(book, ours, by=everywhere)
    assert live(book) == {everywhere, theirs}


def test_any_spelling_of_an_id_will_do(book: Book) -> None:
    old, new = made(book, "zebra hay", "zebra oats")
    supersede(book, fetch_one(book, old).short_id, by=fetch_one(book, new).uid)
    assert live(book) == {new}
