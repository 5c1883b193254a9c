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
from commonplace.memory.background_tasks import BackgroundTasks, OtherSpacesTask
from commonplace.memory.embedding_worker import Embeddings
from commonplace.memory.local_memory import LazyMemory, LocalMemory, for_space, open_memory
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.spaces import Limits, create_space

BOUND = 60
NAMES = ("a", "b", "c")


class Embeds:
    """An embedder of one word."""

    name, dim, is_local = "tiny", 8, True

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
def server(memory: LocalMemory, clock: Clock, embeds: Embeds) -> LocalMemory:
    """A memory with three spaces beside it, in each of which something waits."""
    server = replace(memory, embeddings=Embeddings(memory.store, embeds, clock))  # type: ignore[arg-type]
    for name in NAMES:
        create_space(server, name, Limits())
        write(for_space(server, name), 3)
    return server


def write(memory: LocalMemory, count: int) -> None:
    remember_all(memory, [NewItem(f"note {number} of src/auth.ts", session="s") for number in range(count)])


def waiting(server: LocalMemory) -> list[str]:
    return list(server.maintenance.spaces_with_work(server.clock()))


def done(rounds: OtherSpacesTask, server: LocalMemory) -> None:
    for _step in range(100):
        if not rounds(server):
            return
    raise AssertionError("it does not end")


def test_everything_that_waits_in_other_spaces_is_done(server: LocalMemory) -> None:
    write(server, 2)
    done(OtherSpacesTask(), server)
    assert waiting(server) == ["default"], "that is for the server's own workers"
    for name in NAMES:
        store = for_space(server, name).store
        assert (store.pending(), store.count_unlinked(), store.counts().vectors) == (0, 0, 3)


def test_what_comes_later_is_done_in_turns(server: LocalMemory) -> None:
    rounds = OtherSpacesTask()
    done(rounds, server)
    assert not rounds(server)
    for name in ("c", "a"):
        write(for_space(server, name), 30)
    rounds(server)
    rounds(server)
    assert [for_space(server, name).store.pending() < 27 for name in NAMES] == [True, True, True]
    done(rounds, server)
    assert waiting(server) == []


def test_the_first_round_looks_everywhere(server: LocalMemory, settings: Settings, clock: Clock) -> None:
    done(OtherSpacesTask(), server)
    assert waiting(server) == []
    other = Embeds()
    other.name = "other"
    # Another model: nothing waits yet, and everything has to be made anew.
    with closing(open_memory(settings, clock)) as again:
        rebuilt = replace(again, embeddings=Embeddings(again.store, other, clock))  # type: ignore[arg-type]
        done(OtherSpacesTask(), rebuilt)
        assert all(for_space(rebuilt, name).store.uses_model("other") for name in NAMES)
        assert other.calls == len(NAMES)


def test_an_embedder_that_is_away_is_asked_once_a_round(server: LocalMemory, embeds: Embeds) -> None:
    rounds = OtherSpacesTask()
    embeds.fails = True
    done(rounds, server)
    assert [for_space(server, name).store.count_unlinked() for name in NAMES] == [0, 0, 0], (
        "links are made all the same"
    )
    began = []
    for calls in range(embeds.calls + 1, embeds.calls + 4):
        assert not rounds(server)
        assert embeds.calls == calls
        began.append(rounds._last)
    assert sorted(began) == list(NAMES), "each round begins with another space"
    embeds.fails = False
    done(rounds, server)
    assert waiting(server) == []


def test_without_a_model_links_are_made_and_nothing_is_tried_for_ever(memory: LocalMemory) -> None:
    create_space(memory, "a", Limits())
    write(for_space(memory, "a"), 3)
    rounds = OtherSpacesTask()
    done(rounds, memory)
    assert for_space(memory, "a").store.count_unlinked() == 0 and for_space(memory, "a").store.pending() == 3
    assert not rounds(memory) and not rounds._turns


def test_a_server_does_it_by_itself(settings: Settings, open_again: Callable[[], LocalMemory]) -> None:
    with closing(open_again()) as writer:
        create_space(writer, "team", Limits())
        team = for_space(writer, "team")
        write(team, 3)
        ended = threading.Event()

        def watched(_memory: LocalMemory) -> bool:
            if not team.store.count_unlinked():
                ended.set()
            return False

        with closing(LazyMemory(settings, background=BackgroundTasks((OtherSpacesTask(), watched)))) as lazy_memory:
            lazy_memory.memory()
            assert ended.wait(BOUND)
