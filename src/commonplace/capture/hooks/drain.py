"""Draining: the events in the spool are stored, oldest first, each once, by one process at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.capture.hooks.context_builder import contexts_wanted_after
from commonplace.capture.hooks.drain_process import DrainLock
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

# Events that are read, stored and removed together: about a quarter of a second of work.
BATCH = 250


@dataclass(slots=True)
class DrainResult:
    """How many events were stored, passed over or refused (by reason), and how many still wait."""

    remembered: int = 0
    passed_over: int = 0
    cut: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left: int = 0
    elsewhere: bool = False
    """Another process was draining, so nothing was done here."""
    starts: dict[tuple[str, str], None] = field(default_factory=dict)
    """The folders and sessions that will need a context next."""

    def add(self, later: DrainResult) -> None:
        """Add the result of a later step."""
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
    """Store the waiting events, oldest first: all, at most `limit`, or as many as fit into about `seconds`."""
    result, end = DrainResult(), None if seconds is None else time.monotonic() + seconds
    if not has_waiting_events(settings):
        return result
    with DrainLock(settings.data_dir) as locked:
        if not locked:
            result.elsewhere = True
            return result
        spool = spool_path(settings)
        names = waiting_events(spool)
        todo = names[:limit]
        for start in range(0, len(todo), BATCH):
            _drain_batch(memory, spool, todo[start : start + BATCH], result)
            if end is not None and time.monotonic() > end:
                break
        remove_leftovers(spool)
    result.left = len(names) - result.done
    return result


def _drain_batch(memory: LocalMemory, spool: Path, names: Sequence[str], result: DrainResult) -> None:
    events: dict[str, Event] = {}
    for name in names:
        try:
            record = read_record(spool, name)
            event = read_event(record)
        except (UnreadableEvent, OSError) as error:
            _refuse(spool, name, str(error) if isinstance(error, UnreadableEvent) else "unreadable-file", result)
            continue
        result.cut += record.ended in ("cut", "stalled")
        if event is None:
            result.passed_over += 1
            remove_events(spool, [name])
        else:
            events[name] = with_last_answer(event)
    _store(memory, spool, events, result)


def _store(memory: LocalMemory, spool: Path, events: dict[str, Event], result: DrainResult) -> None:
    """Store all events at once; if one of them cannot be stored, each alone, so that it does not block the others."""
    if not events:
        return
    try:
        remember_events(memory, list(events.values()))
    except (StoreError, TimedOut, OSError):
        # Nothing is wrong with the events: they stay in the spool.
        raise
    except Exception as error:  # noqa: BLE001 - counted by its name and set aside
        if len(events) == 1:
            _refuse(spool, next(iter(events)), f"not-rememberable-{type(error).__name__}", result)
            return
        for name, event in events.items():
            _store(memory, spool, {name: event}, result)
        return
    result.remembered += len(events)
    result.starts |= contexts_wanted_after(events.values())
    remove_events(spool, list(events))


def _refuse(spool: Path, name: str, reason: str, result: DrainResult) -> None:
    refuse_event(spool, name, reason)
    result.refused[reason] += 1
