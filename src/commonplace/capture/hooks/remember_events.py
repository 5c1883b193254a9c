"""What of an event may be looked at: nothing private, no secret that its text tells, and nothing nested without end."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from commonplace.capture.hooks.closed_steps import close_steps_elsewhere
from commonplace.capture.hooks.noise_filter import INGESTED, reason_to_drop, reason_to_skip
from commonplace.capture.hooks.observations import Observation, observe
from commonplace.capture.hooks.session_state import FIRST_PROMPTS, RECENT_ACTIONS, Action, SessionState
from commonplace.capture.hooks.session_summary import session_notes
from commonplace.capture.hooks.working_folder import WorkingFolder, WorkingFolders
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
from commonplace.memory.items import ROOT_KEY
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import MAX_SESSION, NewItem, clean_text
from commonplace.text.dates import DAY_MS
from commonplace.text.redact import redact

# Deeper than any host goes, and shallow enough for everything that walks through it.
MAX_DEPTH = 20


def redact_event(event: Event) -> Event:
    """The event without secrets and what is private, taken out before anything is cut or chosen from it.

    Half a mark marks nothing, and a line of a key is known by the lines around it.
    """
    given = {str(name): _public(value, MAX_DEPTH) for name, value in event.input.items()}
    return replace(event, text=redact(event.text), input=given, output=_public(event.output, MAX_DEPTH))


def _public(value: object, levels: int) -> object:
    if isinstance(value, str):
        return redact(value)
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if not levels:
        return None
    if isinstance(value, Mapping):
        return {str(name): _public(entry, levels - 1) for name, entry in value.items()}
    return [_public(entry, levels - 1) for entry in value]


BATCH = 500
"""Events that are written in one transaction."""
_OBSERVED = ("prompt", "tool", "stop", "subagent-stop", "compact")
# Observed only if they say something; they lead a session on in any case.
_MAYBE_SILENT = ("stop", "compact", "subagent-stop")
_CLOSING = ("stop", "session-end", "compact")
# From 2000 on; a host that says something else has no clock, and in a day's time at most.
_EARLIEST_MS, _AHEAD_MS = 946_684_800_000, DAY_MS


def remember_events(memory: LocalMemory, events: Sequence[Event]) -> CaptureCounts:
    """Take events, oldest first. Doing it again with the same ones changes nothing."""
    outcomes: Counter[str] = Counter()
    places, states = WorkingFolders(), dict[str, SessionState]()
    for start in range(0, len(events), BATCH):
        batch = _Batch(memory, places, states)
        for name, event in _unknown(memory, events[start : start + BATCH]):
            batch.take(name, event)
        outcomes.update(batch.write())
    return CaptureCounts.of(outcomes, known=len(events) - outcomes.total())


class _Batch:
    """Events that are written together."""

    def __init__(self, memory: LocalMemory, places: WorkingFolders, states: dict[str, SessionState]) -> None:
        self._memory, self._places, self._courses = memory, places, states
        self._now = memory.clock()
        self._happenings: list[EventOutcome] = []
        self._met: dict[str, SessionState] = {}

    def take(self, name: str, event: Event) -> None:
        place, at_ms = self._places.of(event.cwd), self._moment(event)
        state = self._course(event, place, at_ms)
        if event.kind == "session-start" and event.reason == "compact" and state.is_new:
            self._tie(state)
        self._happenings.append(self._happening(name, event, state, place, at_ms))
        if event.kind in _CLOSING and not event.agent:
            state.close(at_ms, event.text)
        state.is_new = False

    def write(self) -> Counter[str]:
        """Write what was taken. A session that is forgotten is left alone; one without anything in it is left out."""
        if not self._happenings:
            return Counter()
        live = [state for state in self._met.values() if not state.forgotten]
        told = [note for state in live for note in session_notes(state)]
        others, told = close_steps_elsewhere(self._memory, live, told)
        begun = [_begun(state) for state in live if not state.is_empty or "continued_from" in state.meta]
        outcomes = store_captured(self._memory, [*begun, *others], self._happenings, told)
        for state in live:
            if state.closes_ms is not None:
                # What is told of it has changed.
                self._courses.pop(state.key, None)
        return outcomes

    def _happening(
        self, name: str, event: Event, state: SessionState, place: WorkingFolder, at_ms: int
    ) -> EventOutcome:
        if event.kind not in _OBSERVED or (event.kind in _MAYBE_SILENT and not event.text.strip()):
            return EventOutcome(name, f"{CONTINUED}:{event.kind}")
        if event.kind == "stop" and event.agent:
            return EventOutcome(name, f"{CONTINUED}:{event.kind}")
        if reason := reason_to_skip(event, state):
            return EventOutcome(name, f"{DROPPED}:{reason}")
        seen = observe(event, place)
        if reason := reason_to_drop(seen, state, at_ms):
            return EventOutcome(name, f"{DROPPED}:{reason}")
        if event.kind == "stop" and state.messages and answer_in_transcript(self._memory, state.key, seen.body, at_ms):
            return EventOutcome(name, f"{DROPPED}:{INGESTED}")
        note = _note(event, seen, state, place, at_ms)
        state.add(Action.of(note.type, note.title, note.content, note.details, note.meta, at_ms))
        return EventOutcome(name, f"{CAPTURED}:{seen.type}", note, seen.tokens)

    def _course(self, event: Event, place: WorkingFolder, at_ms: int) -> SessionState:
        key = session_key(event, place, at_ms)
        state = self._courses.get(key)
        if state is None:
            state = SessionState(key, event.host, at_ms, place.project)
            if known := session_thread(self._memory, key, FIRST_PROMPTS, RECENT_ACTIONS):
                state.go_on(known)
            self._courses[key] = state
        if place.folder:
            state.meta.setdefault("folder", place.folder)
            state.project = state.project or place.project
        self._met[key] = state
        return state

    def _tie(self, state: SessionState) -> None:
        """A compaction that goes on under another name continues the session before it."""
        if state.project is None:
            return
        beside = (other for other in reversed(self._courses.values()) if other is not state)
        known = (other.key for other in beside if (other.source, other.project) == (state.source, state.project))
        before = next(known, None) or latest_session_key(self._memory, state.source, state.project, but=state.key)
        if before:
            state.meta["continued_from"] = before

    def _moment(self, event: Event) -> int:
        return event.at_ms if _EARLIEST_MS <= event.at_ms <= self._now + _AHEAD_MS else self._now


def session_key(event: Event, place: WorkingFolder, at_ms: int) -> str:
    """What a session is called: by its host, as its transcript would be; without a name, a day in a project is one."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
    session = event.session.strip() or f"{place.project or 'somewhere'} {day}"
    return clean_text(f"{event.host}:{session}", "session")[:MAX_SESSION].strip()


def _unknown(memory: LocalMemory, events: Sequence[Event]) -> Iterator[tuple[str, Event]]:
    named = {_name(event): event for event in map(redact_event, events)}
    known = known_events(memory, list(named))
    return ((name, event) for name, event in named.items() if name not in known)


def _name(event: Event) -> str:
    """Its id; without one, all that it says."""
    return event.id or hashlib.sha256(repr(event).encode("utf-8", "replace")).hexdigest()


def _note(event: Event, seen: Observation, state: SessionState, place: WorkingFolder, at_ms: int) -> NewItem:
    known = {
        "tool": event.tool[:200],
        "agent": event.agent[:200],
        "digest": seen.digest,
        "error": seen.error[:300],
        "went_well": seen.went_well,
        "verbs": dict(seen.verbs) if len(set(seen.verbs.values())) > 1 else None,
        ROOT_KEY: place.root if seen.files_read or seen.files_modified else "",
    }
    return NewItem(
        content=seen.body,
        kind="observation",
        type=seen.type,
        title=seen.title,
        details=seen.details,
        meta={name: value for name, value in known.items() if value},
        project=state.project,
        session=state.key,
        created_ms=at_ms,
    )


def _begun(state: SessionState) -> StartedSession:
    return StartedSession(state.key, state.source, state.label, state.started_ms, state.project, state.meta)
