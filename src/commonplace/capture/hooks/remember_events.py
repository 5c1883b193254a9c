"""Storing hook events: those of any hosts and sessions become observations, summaries and checkpoints.

An event is stored once, however often it arrives; a batch is written in few transactions.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from commonplace.capture.hooks.noise_filter import INGESTED, reason_to_drop, reason_to_skip
from commonplace.capture.hooks.observations import (
    FIRST_PROMPTS,
    RECENT_ACTIONS,
    Action,
    Observation,
    SessionState,
    observe,
)
from commonplace.capture.hooks.redact_event import redact_event
from commonplace.capture.hooks.session_summary import close_steps_elsewhere, session_notes
from commonplace.capture.hooks.working_folder import WorkingFolder, WorkingFolders
from commonplace.capture.proposals import proposals_in
from commonplace.hosts.hook_event import Event
from commonplace.memory.captured_events import (
    CAPTURED,
    CONTINUED,
    DROPPED,
    CaptureCounts,
    EventOutcome,
    StartedSession,
    answer_in_transcript,
    known_events,
    latest_session_key,
    session_thread,
    store_captured,
)
from commonplace.memory.draft import MAX_SESSION, clean_text
from commonplace.memory.items import ROOT_KEY
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem
from commonplace.text.dates import DAY_MS

BATCH = 500
"""Events that are written in one transaction."""
_OBSERVED = ("prompt", "tool", "stop", "subagent-stop", "compact")
# Observed only if they have a text; they update their session in any case.
_MAYBE_SILENT = ("stop", "compact", "subagent-stop")
_CLOSING = ("stop", "session-end", "compact")
# A time before 2000 or more than a day ahead is wrong.
_EARLIEST_MS, _AHEAD_MS = 946_684_800_000, DAY_MS


def remember_events(
    memory: LocalMemory, events: Sequence[Event], folders: WorkingFolders | None = None
) -> CaptureCounts:
    """Store events, oldest first. Storing the same ones again changes nothing.

    `folders` are those that the events happened in, if they are on another machine.
    """
    outcomes: Counter[str] = Counter()
    folders, states = folders or WorkingFolders(), dict[str, SessionState]()
    for start in range(0, len(events), BATCH):
        batch = _Batch(memory, folders, states)
        for name, event in _new_events(memory, events[start : start + BATCH]):
            batch.add(name, event)
        outcomes.update(batch.write())
    return CaptureCounts.of(outcomes, len(events))


class _Batch:
    """Events that are written together."""

    def __init__(self, memory: LocalMemory, folders: WorkingFolders, states: dict[str, SessionState]) -> None:
        self._memory, self._folders, self._states = memory, folders, states
        self._now = memory.clock()
        self._outcomes: list[EventOutcome] = []
        self._touched: dict[str, SessionState] = {}

    def add(self, name: str, event: Event) -> None:
        folder, at_ms = self._folders.of(event.cwd), self._time_of(event)
        state = self._state_of(event, folder, at_ms)
        if event.kind == "session-start" and event.reason == "compact" and state.is_new:
            self._link_to_previous(state)
        outcome = self._outcome(name, event, state, folder, at_ms)
        self._outcomes.append(outcome)
        if outcome.note and event.kind == "prompt" and not event.agent:
            commands = [action.facts for action in state.actions if action.type == "command"]
            self._outcomes += proposals_in(self._memory, event.text, state.project, state.key, at_ms, commands)
        if event.kind in _CLOSING and not event.agent:
            state.close(at_ms, event.text)
        state.is_new = False

    def write(self) -> Counter[str]:
        """Write the events that were added. A forgotten session is left alone, an empty one is not stored."""
        if not self._outcomes:
            return Counter()
        live = [state for state in self._touched.values() if not state.forgotten]
        notes = [note for state in live for note in session_notes(state)]
        others, notes = close_steps_elsewhere(self._memory, live, notes)
        started = [_started(state) for state in live if not state.is_empty or "continued_from" in state.meta]
        counts = store_captured(self._memory, [*started, *others], self._outcomes, notes)
        for state in live:
            if state.closes_ms is not None:
                # Its summary has changed, so it is read from the store again.
                self._states.pop(state.key, None)
        return counts

    def _outcome(self, name: str, event: Event, state: SessionState, folder: WorkingFolder, at_ms: int) -> EventOutcome:
        if event.kind not in _OBSERVED or (event.kind in _MAYBE_SILENT and not event.text.strip()):
            return EventOutcome(name, f"{CONTINUED}:{event.kind}")
        if event.kind == "stop" and event.agent:
            return EventOutcome(name, f"{CONTINUED}:{event.kind}")
        if reason := reason_to_skip(event, state):
            return EventOutcome(name, f"{DROPPED}:{reason}")
        observation = observe(event, folder)
        if reason := reason_to_drop(observation, state, at_ms):
            return EventOutcome(name, f"{DROPPED}:{reason}")
        if event.kind == "stop" and state.messages and self._is_ingested(state, observation, at_ms):
            return EventOutcome(name, f"{DROPPED}:{INGESTED}")
        item = _new_item(event, observation, state, folder, at_ms)
        state.add(Action.of(item.type, item.title, item.content, item.details, item.meta, at_ms))
        return EventOutcome(name, f"{CAPTURED}:{observation.type}", item, observation.tokens)

    def _is_ingested(self, state: SessionState, observation: Observation, at_ms: int) -> bool:
        return answer_in_transcript(self._memory, state.key, observation.body, at_ms)

    def _state_of(self, event: Event, folder: WorkingFolder, at_ms: int) -> SessionState:
        key = session_key(event, folder, at_ms)
        state = self._states.get(key)
        if state is None:
            state = SessionState(key, event.host, at_ms, folder.project)
            if known := session_thread(self._memory, key, FIRST_PROMPTS, RECENT_ACTIONS):
                state.resume(known)
            self._states[key] = state
        if folder.path:
            state.meta.setdefault("folder", folder.path)
            state.project = state.project or folder.project
        self._touched[key] = state
        return state

    def _link_to_previous(self, state: SessionState) -> None:
        """A session that goes on under a new id after a compaction continues the previous one of the project."""
        if state.project is None:
            return
        others = (other for other in reversed(self._states.values()) if other is not state)
        known = (other.key for other in others if (other.source, other.project) == (state.source, state.project))
        before = next(known, None) or latest_session_key(self._memory, state.source, state.project, but=state.key)
        if before:
            state.meta["continued_from"] = before

    def _time_of(self, event: Event) -> int:
        return event.at_ms if _EARLIEST_MS <= event.at_ms <= self._now + _AHEAD_MS else self._now


def session_key(event: Event, folder: WorkingFolder, at_ms: int) -> str:
    """The name of a session: its host and its id there, as for its transcript; without an id, project and day."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
    session = event.session.strip() or f"{folder.project or 'somewhere'} {day}"
    return clean_text(f"{event.host}:{session}", "session")[:MAX_SESSION].strip()


def _new_events(memory: LocalMemory, events: Sequence[Event]) -> Iterator[tuple[str, Event]]:
    named = {_event_name(event): event for event in map(redact_event, events)}
    known = known_events(memory, list(named))
    return ((name, event) for name, event in named.items() if name not in known)


def _event_name(event: Event) -> str:
    """Its id; without one, a digest of its content."""
    return event.id or hashlib.sha256(repr(event).encode("utf-8", "replace")).hexdigest()


def _new_item(
    event: Event, observation: Observation, state: SessionState, folder: WorkingFolder, at_ms: int
) -> NewItem:
    meta = {
        "tool": event.tool[:200],
        "agent": event.agent[:200],
        "digest": observation.digest,
        "error": observation.error[:300],
        "went_well": observation.succeeded,
        "printed": " ".join(observation.printed),
        "verbs": dict(observation.verbs) if len(set(observation.verbs.values())) > 1 else None,
        ROOT_KEY: folder.root if observation.files_read or observation.files_modified else "",
    }
    return NewItem(
        content=observation.body,
        kind="observation",
        type=observation.type,
        title=observation.title,
        details=observation.details,
        meta={name: value for name, value in meta.items() if value},
        project=state.project,
        session=state.key,
        created_ms=at_ms,
    )


def _started(state: SessionState) -> StartedSession:
    return StartedSession(state.key, state.source, state.label, state.started_ms, state.project, state.meta)
