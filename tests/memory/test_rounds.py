"""Rounds: what waits in the other spaces of a store is done by a server, also where nobody comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import Clock

from commonplace.config import Settings
from commonplace.errors import EmbedderUnavailable
from commonplace.memory.book import Book, beside, open_book
from commonplace.memory.meaning import Meaning
from commonplace.memory.remember import Note, remember_all
from commonplace.memory.rounds import Rounds
from commonplace.memory.shelf import Shelf
from commonplace.memory.spaces import Limits, create

BOUND = 30
NAMES = ("a", "b", "c")


class Embeds:
    """An embedder of one word."""

    name, dim, at_hand = "tiny", 8, True

    def __init__(self) -> None:
        self.fails = False
        self.calls = 0

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> object:
        self.calls += 1
        if self.fails:
            raise EmbedderUnavailable("It is away.")
        return np.ones((len(texts), 8), np.float32) / np.float32(np.sqrt(8))

    def state(self) -> str:
        return "failed: It is away." if self.fails else "ready"


@pytest.fixture
def embeds() -> Embeds:
    return Embeds()


@pytest.fixture
def server(book: Book, clock: Clock, embeds: Embeds) -> Book:
    """A memory with three spaces beside it, in each of which something waits."""
    server = replace(book, meaning=Meaning(book.store, embeds, clock))  # type: ignore[arg-type]
    for name in NAMES:
        create(server, name, Limits())
        write(beside(server, name), 3)
    return server


def write(book: Book, count: int) -> None:
    remember_all(book, [Note(f"note {number} of src/auth.ts", session="s") for number in range(count)])


def waiting(server: Book) -> list[str]:
    return list(server.store.waiting_spaces(server.clock()))


def done(rounds: Rounds, server: Book) -> None:
    for _step in range(100):
        if not rounds(server):
            return
    raise AssertionError("it does not end")


def test_everything_that_waits_in_other_spaces_is_done(server: Book) -> None:
    write(server, 2)
    done(Rounds(), server)
    assert waiting(server) == ["default"], "that is for the server's own workers"
    for name in NAMES:
        store = beside(server, name).store
        assert (store.pending(), store.unlinked(), store.counts().vectors) == (0, 0, 3)


def test_what_comes_later_is_done_in_turns(server: Book) -> None:
    rounds = Rounds()
    done(rounds, server)
    assert not rounds(server)
    for name in ("c", "a"):
        write(beside(server, name), 30)
    rounds(server)
    rounds(server)
    assert [beside(server, name).store.pending() < 27 for name in NAMES] == [True, True, True]
    done(rounds, server)
    assert waiting(server) == []


def test_the_first_round_looks_everywhere(server: Book, settings: Settings, clock: Clock) -> None:
    done(Rounds(), server)
    assert waiting(server) == []
    other = Embeds()
    other.name = "other"
    # Another model: nothing waits yet, and everything has to be made anew.
    with closing(open_book(settings, clock)) as again:
        anew = replace(again, meaning=Meaning(again.store, other, clock))  # type: ignore[arg-type]
        done(Rounds(), anew)
        assert all(beside(anew, name).store.uses_model("other") for name in NAMES)
        assert other.calls == len(NAMES)


def test_an_embedder_that_is_away_is_asked_once_a_round(server: Book, embeds: Embeds) -> None:
    rounds = Rounds()
    embeds.fails = True
    done(rounds, server)
    assert [beside(server, name).store.unlinked() for name in NAMES] == [0, 0, 0], "links are made all the same"
    began = []
    for calls in range(embeds.calls + 1, embeds.calls + 4):
        assert not rounds(server)
        assert embeds.calls == calls
        began.append(rounds._last)
    assert sorted(began) == list(NAMES), "each round begins with another space"
    embeds.fails = False
    done(rounds, server)
    assert waiting(server) == []


def test_without_a_model_links_are_made_and_nothing_is_tried_for_ever(book: Book) -> None:
    create(book, "a", Limits())
    write(beside(book, "a"), 3)
    rounds = Rounds()
    done(rounds, book)
    assert beside(book, "a").store.unlinked() == 0 and beside(book, "a").store.pending() == 3
    assert not rounds(book) and not rounds._turns


def test_a_server_does_it_by_itself(settings: Settings, open_again: Callable[[], Book]) -> None:
    with closing(open_again()) as writer:
        create(writer, "team", Limits())
        team = beside(writer, "team")
        write(team, 3)
        ended = threading.Event()

        def watched(_book: Book) -> bool:
            if not team.store.unlinked():
                ended.set()
            return False

        with closing(Shelf(settings, tasks=(Rounds(), watched))) as shelf:
            shelf.book()
            assert ended.wait(BOUND)
