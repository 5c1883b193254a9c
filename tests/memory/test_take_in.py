"""Taking in: known by uid, followed where nobody had a hand in it, and never at the cost of what was done here."""

from __future__ import annotations

from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.forget import forget
from commonplace.memory.remember import Note, remember
from commonplace.memory.supersede import supersede
from commonplace.memory.take_in import Arrival, Replaced, take_in, take_place

ONE, TWO = "0190a000-0000-7000-8000-000000000001", "0190a000-0000-7000-8000-000000000002"


def test_what_is_new_is_kept_under_its_uid_and_what_is_known_is_not_kept_again(book: Book) -> None:
    arrival = Arrival(Note("Use pnpm", uid=ONE, created_ms=1))
    assert take_in(book, [arrival]) == [True]
    assert take_in(book, [arrival]) == [False]
    assert (fetch_one(book, ONE).body, fetch_one(book, ONE).created_ms) == ("Use pnpm", 1)


def test_what_is_remembered_here_already_is_not_kept_twice_nor_forgotten(book: Book) -> None:
    known = remember(book, Note("Use pnpm"))
    assert take_in(book, [Arrival(Note("Use pnpm", uid=ONE), forgotten=True)]) == [False]
    assert fetch_one(book, known.id).forgotten_ms is None


def test_one_that_is_forgotten_there_twice_over_is_so_here_once(book: Book) -> None:
    gone = Arrival(Note("Use yarn", uid=ONE), forgotten=True)
    assert take_in(book, [gone]) == [True]
    revision = fetch_one(book, ONE, forgotten=True).rev
    assert take_in(book, [gone]) == [False]
    assert fetch_one(book, ONE, forgotten=True).rev == revision


def test_a_change_is_followed_again_and_again(book: Book) -> None:
    for words in ("Use npm", "Use yarn", "Use pnpm"):
        assert take_in(book, [Arrival(Note(words, uid=ONE))]) == [True]
    assert fetch_one(book, ONE).body == "Use pnpm"


def test_what_was_forgotten_here_is_neither_changed_nor_brought_back(book: Book) -> None:
    take_in(book, [Arrival(Note("Use npm", uid=ONE))])
    forget(book, [ONE])
    assert take_in(book, [Arrival(Note("Use yarn", uid=ONE))]) == [False]
    kept = fetch_one(book, ONE, forgotten=True)
    assert kept.forgotten_ms is not None and kept.body == "Use npm"


def test_one_takes_the_place_of_another_once(book: Book) -> None:
    take_in(book, [Arrival(Note("Use npm", uid=ONE)), Arrival(Note("Use pnpm", uid=TWO))])
    assert take_place(book, Replaced(ONE, TWO)) == ""
    replaced = fetch_one(book, ONE)
    assert replaced.superseded_by == fetch_one(book, TWO).id
    assert take_place(book, Replaced(ONE, TWO)) == "" and fetch_one(book, ONE).rev == replaced.rev


def test_why_one_cannot_take_the_place_of_another_is_told(book: Book) -> None:
    take_in(book, [Arrival(Note("Everywhere", uid=ONE)), Arrival(Note("Here", uid=TWO, project="my-api"))])
    assert "only in my-api" in take_place(book, Replaced(ONE, TWO))
    assert "There is no item" in take_place(book, Replaced(ONE, "0190a000-0000-7000-8000-000000000003"))
    supersede(book, TWO, ONE)
    assert take_place(book, Replaced(TWO, ONE)) == ""
