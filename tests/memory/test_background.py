"""The background: what was written is linked soon, in small steps, by whoever lives, and never at the writers' cost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from commonplace.config import Settings
from commonplace.errors import StoreBusy, StoreError
from commonplace.memory.background_tasks import TASKS, BackgroundTasks, BackgroundWorker
from commonplace.memory.graph import STEP, link_new_passages, walk_links
from commonplace.memory.local_memory import LazyMemory, LocalMemory
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.topics import update_topics
from commonplace.model import Draft, Item

BOUND = 60


def write(memory: LocalMemory, count: int) -> None:
    notes = [NewItem(kind="memory", type="note", content=f"note {n} of src/auth.ts", session="s") for n in range(count)]
    remember_all(memory, notes)


def test_its_tasks_are_links_and_topics() -> None:
    assert (link_new_passages, update_topics) == TASKS


def test_a_step_links_a_few_and_tells_whether_there_is_more(memory: LocalMemory) -> None:
    background = BackgroundWorker(memory, (link_new_passages,))
    assert not background.step()
    write(memory, STEP + 5)
    assert background.step()
    assert memory.store.count_unlinked() == 5
    assert background.step()
    assert not background.step()
    assert walk_links(memory, {1: 1.0})
    assert background.failure == ""


def test_a_started_one_links_what_is_written_before_and_after(memory: LocalMemory) -> None:
    done = threading.Event()

    def watched(memory: LocalMemory) -> bool:
        more = link_new_passages(memory)
        if memory.store.counts().passages >= STEP + 20 and not memory.store.count_unlinked():
            done.set()
        return more

    background = BackgroundWorker(memory, (watched,))
    write(memory, STEP + 10)
    background.start()
    background.start()
    write(memory, STEP + 20)
    assert done.wait(BOUND)
    background.stop()
    assert memory.store.count_unlinked() == 0
    assert [thread for thread in threading.enumerate() if thread.name == "commonplace-background"] == []


def test_stopping_ends_it_between_two_steps(memory: LocalMemory) -> None:
    began = threading.Event()
    ended = []

    def slow(_memory: LocalMemory) -> bool:
        began.set()
        background._stop.wait(BOUND)
        ended.append("slow")
        return True

    def second(_memory: LocalMemory) -> bool:
        ended.append("second")
        return False

    background = BackgroundWorker(memory, (slow, second))
    background.start()
    assert began.wait(BOUND)
    background.stop()
    assert ended == ["slow"], "what was under way was finished, and nothing else begun"
    assert not background.step(), "what was stopped stays so"


def test_one_task_that_fails_does_not_keep_the_others(memory: LocalMemory) -> None:
    def broken(_memory: LocalMemory) -> bool:
        raise ZeroDivisionError("no")

    def refused(_memory: LocalMemory) -> bool:
        raise StoreError("The disk is gone.")

    background = BackgroundWorker(memory, (broken, refused, link_new_passages))
    write(memory, 1)
    assert background.step()
    assert memory.store.count_unlinked() == 0
    assert background.failure == "ZeroDivisionError: no; The disk is gone."
    background = BackgroundWorker(memory, (link_new_passages,))
    assert not background.step()
    assert background.failure == ""


def test_it_gives_way_to_whoever_writes(memory: LocalMemory, open_again: Callable[[], LocalMemory]) -> None:
    write(memory, 3)
    background = BackgroundWorker(memory, (link_new_passages,))
    other = open_again()

    def meanwhile(_item: Item) -> Draft:
        with pytest.raises(StoreBusy):
            link_new_passages(memory)
        assert not background.step()
        assert background.failure == "", "that somebody else writes is no failure"
        raise InterruptedError

    with pytest.raises(InterruptedError):
        other.maintenance.clean_items([(1,)], meanwhile)
    assert background.step()
    assert other.store.count_unlinked() == 0
    other.close()


def test_a_server_links_and_a_command_does_not(settings: Settings) -> None:
    lazy_memory = LazyMemory(replace(settings, embedder="off"), background=BackgroundTasks())
    lazy_memory.memory()
    names = [thread.name for thread in threading.enumerate()]
    assert "commonplace-background" in names
    lazy_memory.close()
    lazy_memory.close()
    assert "commonplace-background" not in [thread.name for thread in threading.enumerate()]


def test_what_is_closed_is_not_opened_any_more(settings: Settings) -> None:
    """A server may end before the moment at which it would have opened its store unasked."""
    lazy_memory = LazyMemory(replace(settings, embedder="off"), background=BackgroundTasks())
    before = set(threading.enumerate())
    lazy_memory.open_soon(BOUND)
    (timer,) = set(threading.enumerate()) - before
    lazy_memory.close()
    timer.join(BOUND / 2)
    assert not timer.is_alive() and not settings.database.exists()
    with pytest.raises(StoreError):
        lazy_memory.memory()


def test_opening_a_book_starts_nothing(memory: LocalMemory) -> None:
    write(memory, 1)
    assert [thread for thread in threading.enumerate() if thread.name == "commonplace-background"] == []
    assert memory.store.count_unlinked() == 1
