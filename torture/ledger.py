"""The ledger: what somebody was told is kept, and what may have happened though nobody was told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from commonplace.model import Item, ref
from commonplace.store.protocol import SpaceStore

State = str | None
"""What an item says, or None if it is forgotten."""


class Ledger:
    """For each item the states in which it may be found. One that was acknowledged last leaves no other."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[State, ...]] = {}
        self._lock = threading.Lock()
        self.acknowledged = 0

    def may_be(self, uid: str, state: State) -> None:
        """Somebody asks for this now; whether it happens is not known until it is acknowledged."""
        with self._lock:
            self._states[uid] = (*self._states.get(uid, ()), state)

    def is_(self, uid: str, state: State) -> None:
        """Somebody was told so."""
        with self._lock:
            self._states[uid] = (state,)
            self.acknowledged += 1

    def hear(self, line: str) -> dict[str, Any]:
        """Record what a writer reports (writers.py)."""
        output: dict[str, Any] = json.loads(line)
        if "is" in output:
            self.is_(output["is"], output["state"])
        elif "may" in output:
            self.may_be(output["may"], output["state"])
        return output

    def copy(self) -> Ledger:
        """As it is now, with nothing acknowledged since."""
        other = Ledger()
        with self._lock:
            other._states = dict(self._states)
        return other

    def live(self) -> list[str]:
        """Items that are surely not forgotten."""
        with self._lock:
            return [uid for uid, states in self._states.items() if None not in states]

    def lost(self, store: SpaceStore) -> list[str]:
        """What is not as it was acknowledged."""
        with self._lock:
            expected = dict(self._states)
        found = _items(store, expected)
        return [
            f"{uid} is {_state(found.get(uid))!r}, acknowledged was {states!r}"
            for uid, states in expected.items()
            if _state(found.get(uid)) not in states
        ]


def _state(item: Item | None) -> State | bool:
    """False for one that is not there at all."""
    if item is None:
        return False
    return item.body if item.forgotten_ms is None else None


def _items(store: SpaceStore, uids: Iterable[str]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for some in _in_steps(list(uids), 500):
        ids = store.resolve([ref(uid) for uid in some])
        items = store.get([id_ for id_ in ids if id_ is not None])
        found |= {item.uid: item for item in items.values()}
    return found


def _in_steps(uids: list[str], step: int) -> Iterator[list[str]]:
    for start in range(0, len(uids), step):
        yield uids[start : start + step]
