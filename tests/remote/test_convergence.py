"""Whatever two laptops and a server do, and whenever they meet: they end with the same records, and nothing is lost."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.remote.local_remote import LocalRemote

from commonplace import config
from commonplace.errors import CommonplaceError
from commonplace.memory import conversations, sync_and_archive
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, mark_superseded, restore_items
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.memory.sync_and_archive import SyncScope
from commonplace.remote_sync import Sync, SyncSummary

SERVER, LAPTOPS = 0, (1, 2)
WORDS = ("red", "green", "blue")
PROJECTS = (None, "github.com/acme/api", "web")
EVERYTHING = SyncScope()

stores = st.sampled_from((SERVER, *LAPTOPS))
words = st.sampled_from(WORDS)
projects = st.sampled_from(PROJECTS)
which = st.integers(0, 7)


class Clock:
    """A clock of its own for each machine: they go on, but do not agree."""

    def __init__(self, ahead: int) -> None:
        self.now = 1_742_049_000_000 + ahead

    def __call__(self) -> int:
        self.now += 7
        return self.now


class Meetings(RuleBasedStateMachine):
    """Three memories that change and meet."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.said: set[str] = set()

    @initialize(skew=st.tuples(*[st.integers(-50, 50)] * 3))
    def opened(self, skew: tuple[int, int, int]) -> None:
        self.memories = [self._open(number, ahead) for number, ahead in enumerate(skew)]

    def _open(self, number: int, ahead: int) -> LocalMemory:
        folder = Path(self.folder.name) / str(number)
        loaded = config.load({"data_dir": str(folder), "embedder": "off", "durability": "normal"})
        return open_memory(loaded, Clock(ahead))

    @rule(store=stores, word=words, project=projects, tag=words)
    def add(self, store: int, word: str, project: str | None, tag: str) -> None:
        self.said.add(f"{word} {project}")
        remember(self.memories[store], NewItem(f"{word} {project}", project=project, tags=[tag]))

    @rule(store=stores, number=which, word=words)
    def change(self, store: int, number: int, word: str) -> None:
        for item in self._chosen(store, number, kind="memory"):
            text = f"{word} instead"
            # Refused where the same is said already, or it was forgotten.
            with contextlib.suppress(CommonplaceError):
                edit_item(self.memories[store], item.name, Changes(content=text, tags=[word]))
                self.said.add(text)

    @rule(store=stores, number=which)
    def forgotten(self, store: int, number: int) -> None:
        for item in self._chosen(store, number):
            forget_items(self.memories[store], [item.name])

    @rule(store=stores, number=which)
    def restored(self, store: int, number: int) -> None:
        for item in self._chosen(store, number):
            restore_items(self.memories[store], [item.name])

    @rule(store=stores, number=which, other=which)
    def replaced(self, store: int, number: int, other: int) -> None:
        for old in self._chosen(store, number, kind="memory"):
            for new in self._chosen(store, other, kind="memory"):
                with contextlib.suppress(CommonplaceError):
                    mark_superseded(self.memories[store], old.name, new.name)

    @rule(store=stores, word=words, project=projects)
    def talk(self, store: int, word: str, project: str | None) -> None:
        messages = [NewMessage("user", f"{word}?"), NewMessage("assistant", f"{word}!")]
        self.said |= {one.content for one in messages}
        conversations.store_conversation(
            self.memories[store], NewConversation(word, messages, key=f"talk of {word}", project=project)
        )

    @rule(store=stores, word=words, label=words)
    def renamed(self, store: int, word: str, label: str) -> None:
        with contextlib.suppress(CommonplaceError):
            conversations.update_conversation(
                self.memories[store], f"talk of {word}", conversations.ConversationChanges(label=f"{label} again")
            )

    @rule(store=stores, word=words)
    def talk_forgotten(self, store: int, word: str) -> None:
        with contextlib.suppress(CommonplaceError):
            conversations.forget_session(self.memories[store], f"talk of {word}")

    @rule(store=stores, word=words)
    def talk_restored(self, store: int, word: str) -> None:
        with contextlib.suppress(CommonplaceError):
            conversations.restore_session(self.memories[store], f"talk of {word}")

    @rule(laptop=st.sampled_from(LAPTOPS))
    def meet(self, laptop: int) -> None:
        self._sync(laptop)
        again = self._sync(laptop)
        assert (again.sent, again.received, again.conflicts, again.failed) == (0, 0, [], [])
        assert _digests(self.memories[laptop]) == _digests(self.memories[SERVER])

    @rule(laptop=st.sampled_from(LAPTOPS))
    def only_push(self, laptop: int) -> None:
        Sync(self.memories[laptop], LocalRemote(self.memories[SERVER]), EVERYTHING).push()

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "books"):
            assert self.said <= {text for memory in self.memories for text in _texts(memory)}

    def teardown(self) -> None:
        try:
            if hasattr(self, "books"):
                for laptop in (*LAPTOPS, *LAPTOPS):
                    self._sync(laptop)
                first, *others = (_digests(memory) for memory in self.memories)
                assert all(message == first for message in others)
                for memory in self.memories:
                    assert self.said <= {*_texts(memory)}
        finally:
            for memory in getattr(self, "books", ()):
                memory.close()
            self.folder.cleanup()

    def _sync(self, laptop: int) -> SyncSummary:
        sync = Sync(self.memories[laptop], LocalRemote(self.memories[SERVER]), EVERYTHING)
        sync.pull()
        sync.push()
        return sync.summary

    def _chosen(self, store: int, number: int, kind: str = "") -> list[sync_and_archive.Record]:
        """One of the items of a store, if there are so many."""
        items = [one for one in _all(self.memories[store]) if one.what == "item" and kind in ("", one.fields["kind"])]
        return sorted(items, key=lambda one: one.name)[number : number + 1]


def _all(memory: LocalMemory) -> list[sync_and_archive.Record]:
    return sync_and_archive.changed_records(memory, 0, 10_000, EVERYTHING).records


def _digests(memory: LocalMemory) -> dict[tuple[str, str], str]:
    return {(one.what, one.name): one.digest for one in _all(memory)}


def _texts(memory: LocalMemory) -> list[str]:
    """Everything that is said in a memory, or was."""
    lines: list[Any] = []
    for one in _all(memory):
        if one.what == "item":
            lines += [one.fields["body"], *(line.before["body"] for line in one.history)]
    return lines


Meetings.TestCase.settings = settings(
    max_examples=20, stateful_step_count=30, deadline=None, suppress_health_check=[*HealthCheck]
)
test_any_meetings = Meetings.TestCase
