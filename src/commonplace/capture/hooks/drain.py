"""Draining: what waits in the spool is remembered in the order of time, each event once, by one process at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.capture.hooks.context_builder import contexts_wanted_after
from commonplace.capture.hooks.drain_process import drain_lock
from commonplace.capture.hooks.event_reader import read_event, with_last_answer
from commonplace.capture.hooks.remember_events import remember_events
from commonplace.capture.hooks.spool_reader import (
    UnreadableEvent,
    has_waiting_events,
    read_record,
    refuse_event,
    remove_events,
    remove_leftovers,
    spool_path,
    waiting_events,
)
from commonplace.config import Settings
from commonplace.errors import StoreError, TimedOut
from commonplace.hosts.hook_event import Event
from commonplace.memory.local_memory import LocalMemory

# So many are read, remembered and removed together: about a quarter of a second of work.
BATCH = 250


@dataclass(slots=True)
class DrainResult:
    """What became of the events that waited: remembered, passed over, refused by reason; and how many wait still."""

    remembered: int = 0
    passed_over: int = 0
    cut: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left: int = 0
    elsewhere: bool = False
    """Another process drains at this moment, so nothing was done here."""
    starts: dict[tuple[str, str], None] = field(default_factory=dict)
    """The folders and sessions for which an opening will be wanted next."""

    def add(self, later: DrainResult) -> None:
        """What was done after this, too."""
        self.remembered += later.remembered
        self.passed_over += later.passed_over
        self.cut += later.cut
        self.refused += later.refused
        self.left, self.elsewhere = later.left, later.elsewhere
        self.starts |= later.starts

    @property
    def done(self) -> int:
        return self.remembered + self.passed_over + self.refused.total()


def drain(
    memory: LocalMemory, settings: Settings, limit: int | None = None, seconds: float | None = None
) -> DrainResult:
    """Remember what waits, oldest first: all of it, at most so many, or what can be done in about so many seconds."""
    drained, end = DrainResult(), None if seconds is None else time.monotonic() + seconds
    if not has_waiting_events(settings):
        return drained
    with drain_lock(settings.data_dir) as ours:
        if not ours:
            drained.elsewhere = True
            return drained
        spool = spool_path(settings)
        names = waiting_events(spool)
        todo = names[:limit]
        for start in range(0, len(todo), BATCH):
            _batch(memory, spool, todo[start : start + BATCH], drained)
            if end is not None and time.monotonic() > end:
                break
        remove_leftovers(spool)
    drained.left = len(names) - drained.done
    return drained


def _batch(memory: LocalMemory, spool: Path, names: Sequence[str], drained: DrainResult) -> None:
    told: dict[str, Event] = {}
    for name in names:
        try:
            record = read_record(spool, name)
            event = read_event(record)
        except (UnreadableEvent, OSError) as error:
            _refuse(spool, name, str(error) if isinstance(error, UnreadableEvent) else "unreadable-file", drained)
            continue
        drained.cut += record.ended in ("cut", "stalled")
        if event is None:
            drained.passed_over += 1
            remove_events(spool, [name])
        else:
            told[name] = with_last_answer(event)
    _remember(memory, spool, told, drained)


def _remember(memory: LocalMemory, spool: Path, told: dict[str, Event], drained: DrainResult) -> None:
    """All at once; if one of them cannot be remembered, each alone, so that it does not hold up the others."""
    if not told:
        return
    try:
        remember_events(memory, list(told.values()))
    except (StoreError, TimedOut, OSError):
        # Nothing is wrong with the events: they wait for better times.
        raise
    except Exception as error:  # noqa: BLE001 - counted by its name and kept aside
        if len(told) == 1:
            _refuse(spool, next(iter(told)), f"not-rememberable-{type(error).__name__}", drained)
            return
        for name, event in told.items():
            _remember(memory, spool, {name: event}, drained)
        return
    drained.remembered += len(told)
    drained.starts |= contexts_wanted_after(told.values())
    remove_events(spool, list(told))


def _refuse(spool: Path, name: str, reason: str, drained: DrainResult) -> None:
    refuse_event(spool, name, reason)
    drained.refused[reason] += 1
