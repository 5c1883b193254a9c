"""The background: what was written is linked soon, in small steps, by whoever lives, and never at the writers' cost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from commonplace.config import Settings
from commonplace.errors import StoreBusy, StoreError
from commonplace.memory.background import TASKS, Background
from commonplace.memory.book import Book
from commonplace.memory.graph import STEP, link_some, walk
from commonplace.memory.remember import Note, remember_all
from commonplace.memory.shelf import Shelf
from commonplace.memory.topics import tend_topics
from commonplace.model import Draft, Item

BOUND = 30


def write(book: Book, count: int) -> None:
    notes = [Note(kind="memory", type="note", content=f"note {n} of src/auth.ts", session="s") for n in range(count)]
    remember_all(book, notes)


def test_its_tasks_are_links_and_topics() -> None:
    assert (link_some, tend_topics) == TASKS


def test_a_step_links_a_few_and_tells_whether_there_is_more(book: Book) -> None:
    background = Background(book, (link_some,))
    assert not background.step()
    write(book, STEP + 5)
    assert background.step()
    assert book.store.unlinked() == 5
    assert background.step()
    assert not background.step()
    assert walk(book, {1: 1.0})
    assert background.failure == ""


def test_a_started_one_links_what_is_written_before_and_after(book: Book) -> None:
    done = threading.Event()

    def watched(book: Book) -> bool:
        more = link_some(book)
        if book.store.counts().passages >= STEP + 20 and not book.store.unlinked():
            done.set()
        return more

    background = Background(book, (watched,))
    write(book, STEP + 10)
    background.start()
    background.start()
    write(book, STEP + 20)
    assert done.wait(BOUND)
    background.stop()
    assert book.store.unlinked() == 0
    assert [thread for thread in threading.enumerate() if thread.name == "commonplace-background"] == []


def test_stopping_ends_it_between_two_steps(book: Book) -> None:
    began = threading.Event()
    ended = []

    def slow(_book: Book) -> bool:
        began.set()
        background._stop.wait(BOUND)
        ended.append("slow")
        return True

    def second(_book: Book) -> bool:
        ended.append("second")
        return False

    background = Background(book, (slow, second))
    background.start()
    assert began.wait(BOUND)
    background.stop()
    assert ended == ["slow"], "what was under way was finished, and nothing else begun"
    assert not background.step(), "what was stopped stays so"


def test_one_task_that_fails_does_not_keep_the_others(book: Book) -> None:
    def broken(_book: Book) -> bool:
        raise ZeroDivisionError("no")

    def refused(_book: Book) -> bool:
        raise StoreError("The disk is gone.")

    background = Background(book, (broken, refused, link_some))
    write(book, 1)
    assert background.step()
    assert book.store.unlinked() == 0
    assert background.failure == "ZeroDivisionError: no; The disk is gone."
    background = Background(book, (link_some,))
    assert not background.step()
    assert background.failure == ""


def test_it_gives_way_to_whoever_writes(book: Book, open_again: Callable[[], Book]) -> None:
    write(book, 3)
    background = Background(book, (link_some,))
    other = open_again()

    def meanwhile(_item: Item) -> Draft:
        with pytest.raises(StoreBusy):
            link_some(book)
        assert not background.step()
        assert background.failure == "", "that somebody else writes is no failure"
        raise InterruptedError

    with pytest.raises(InterruptedError):
        other.store.clean_items([(1,)], meanwhile)
    assert background.step()
    assert other.store.unlinked() == 0
    other.close()


def test_a_server_links_and_a_command_does_not(settings: Settings) -> None:
    shelf = Shelf(replace(settings, embedder="off"))
    shelf.book()
    names = [thread.name for thread in threading.enumerate()]
    assert "commonplace-background" in names
    shelf.close()
    shelf.close()
    assert "commonplace-background" not in [thread.name for thread in threading.enumerate()]


def test_what_is_closed_is_not_opened_any_more(settings: Settings) -> None:
    """A server may end before the moment at which it would have opened its store unasked."""
    shelf = Shelf(replace(settings, embedder="off"))
    before = set(threading.enumerate())
    shelf.open_soon(BOUND)
    (timer,) = set(threading.enumerate()) - before
    shelf.close()
    timer.join(BOUND / 2)
    assert not timer.is_alive() and not settings.database.exists()
    with pytest.raises(StoreError):
        shelf.book()


def test_opening_a_book_starts_nothing(book: Book) -> None:
    write(book, 1)
    assert [thread for thread in threading.enumerate() if thread.name == "commonplace-background"] == []
    assert book.store.unlinked() == 1
