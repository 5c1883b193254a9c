"""Remembering what hooks told: events of any hosts and sessions become observations, summaries and checkpoints.

An event is taken once, however often it is told; a batch is written in few transactions.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from commonplace.capture.hooks.closing import closed
from commonplace.capture.hooks.closing_elsewhere import close_elsewhere
from commonplace.capture.hooks.course import OPENING, RECENT, Course, Deed
from commonplace.capture.hooks.event import Event
from commonplace.capture.hooks.observations import Observation, observe
from commonplace.capture.hooks.outcomes import DROPPED, KEPT, LED, Remembered
from commonplace.capture.hooks.places import Place, Places
from commonplace.capture.hooks.public import public
from commonplace.capture.hooks.trivia import INGESTED, reason_against, reason_to_drop
from commonplace.memory.answers import is_in_transcript
from commonplace.memory.book import Book
from commonplace.memory.captured import Begun, Happening, capture, known_events, latest_key, thread
from commonplace.memory.remember import MAX_SESSION, Note, clean
from commonplace.memory.staleness import ROOT

BATCH = 500
"""Events that are written in one transaction."""
_OBSERVED = ("prompt", "tool", "stop", "subagent-stop", "compact")
# Observed only if they say something; they lead a session on in any case.
_MAYBE_SILENT = ("stop", "compact", "subagent-stop")
_CLOSING = ("stop", "session-end", "compact")
# From 2000 on; a host that says something else has no clock, and in a day's time at most.
_EARLIEST_MS, _AHEAD_MS = 946_684_800_000, 86_400_000


def remember_events(book: Book, events: Sequence[Event]) -> Remembered:
    """Take events, oldest first. Doing it again with the same ones changes nothing."""
    outcomes: Counter[str] = Counter()
    places, courses = Places(), dict[str, Course]()
    for start in range(0, len(events), BATCH):
        batch = _Batch(book, places, courses)
        for name, event in _unknown(book, events[start : start + BATCH]):
            batch.take(name, event)
        outcomes.update(batch.write())
    return Remembered.of(outcomes, known=len(events) - outcomes.total())


class _Batch:
    """Events that are written together."""

    def __init__(self, book: Book, places: Places, courses: dict[str, Course]) -> None:
        self._book, self._places, self._courses = book, places, courses
        self._now = book.clock()
        self._happenings: list[Happening] = []
        self._met: dict[str, Course] = {}

    def take(self, name: str, event: Event) -> None:
        place, at_ms = self._places.of(event.cwd), self._moment(event)
        course = self._course(event, place, at_ms)
        if event.kind == "session-start" and event.reason == "compact" and course.is_new:
            self._tie(course)
        self._happenings.append(self._happening(name, event, course, place, at_ms))
        if event.kind in _CLOSING and not event.agent:
            course.close(at_ms, event.text)
        course.is_new = False

    def write(self) -> Counter[str]:
        """Write what was taken. A session that is forgotten is left alone; one without anything in it is left out."""
        if not self._happenings:
            return Counter()
        live = [course for course in self._met.values() if not course.forgotten]
        told = [note for course in live for note in closed(course)]
        others, told = close_elsewhere(self._book, live, told)
        begun = [_begun(course) for course in live if not course.is_empty or "continued_from" in course.meta]
        outcomes = capture(self._book, [*begun, *others], self._happenings, told)
        for course in live:
            if course.closes_ms is not None:
                # What is told of it has changed.
                self._courses.pop(course.key, None)
        return outcomes

    def _happening(self, name: str, event: Event, course: Course, place: Place, at_ms: int) -> Happening:
        if event.kind not in _OBSERVED or (event.kind in _MAYBE_SILENT and not event.text.strip()):
            return Happening(name, f"{LED}:{event.kind}")
        if event.kind == "stop" and event.agent:
            return Happening(name, f"{LED}:{event.kind}")
        if reason := reason_against(event, course):
            return Happening(name, f"{DROPPED}:{reason}")
        seen = observe(event, place)
        if reason := reason_to_drop(seen, course, at_ms):
            return Happening(name, f"{DROPPED}:{reason}")
        if event.kind == "stop" and course.messages and is_in_transcript(self._book, course.key, seen.body, at_ms):
            return Happening(name, f"{DROPPED}:{INGESTED}")
        note = _note(event, seen, course, place, at_ms)
        course.add(Deed.of(note.type, note.title, note.content, note.details, note.meta, at_ms))
        return Happening(name, f"{KEPT}:{seen.type}", note, seen.tokens)

    def _course(self, event: Event, place: Place, at_ms: int) -> Course:
        key = key_of(event, place, at_ms)
        course = self._courses.get(key)
        if course is None:
            course = Course(key, event.host, at_ms, place.project)
            if known := thread(self._book, key, OPENING, RECENT):
                course.go_on(known)
            self._courses[key] = course
        if place.folder:
            course.meta.setdefault("folder", place.folder)
            course.project = course.project or place.project
        self._met[key] = course
        return course

    def _tie(self, course: Course) -> None:
        """A compaction that goes on under another name continues the session before it."""
        if course.project is None:
            return
        beside = (other for other in reversed(self._courses.values()) if other is not course)
        known = (other.key for other in beside if (other.source, other.project) == (course.source, course.project))
        before = next(known, None) or latest_key(self._book, course.source, course.project, but=course.key)
        if before:
            course.meta["continued_from"] = before

    def _moment(self, event: Event) -> int:
        return event.at_ms if _EARLIEST_MS <= event.at_ms <= self._now + _AHEAD_MS else self._now


def key_of(event: Event, place: Place, at_ms: int) -> str:
    """What a session is called: by its host, as its transcript would be; without a name, a day in a project is one."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
    session = event.session.strip() or f"{place.project or 'somewhere'} {day}"
    return clean(f"{event.host}:{session}", "session")[:MAX_SESSION].strip()


def _unknown(book: Book, events: Sequence[Event]) -> Iterator[tuple[str, Event]]:
    named = {_name(event): event for event in map(public, events)}
    known = known_events(book, list(named))
    return ((name, event) for name, event in named.items() if name not in known)


def _name(event: Event) -> str:
    """Its id; without one, all that it says."""
    return event.id or hashlib.sha256(repr(event).encode("utf-8", "replace")).hexdigest()


def _note(event: Event, seen: Observation, course: Course, place: Place, at_ms: int) -> Note:
    known = {
        "tool": event.tool[:200],
        "agent": event.agent[:200],
        "digest": seen.digest,
        "error": seen.error[:300],
        "went_well": seen.went_well,
        "verbs": dict(seen.verbs) if len(set(seen.verbs.values())) > 1 else None,
        ROOT: place.root if seen.files_read or seen.files_modified else "",
    }
    return Note(
        content=seen.body,
        kind="observation",
        type=seen.type,
        title=seen.title,
        details=seen.details,
        meta={name: value for name, value in known.items() if value},
        project=course.project,
        session=course.key,
        created_ms=at_ms,
    )


def _begun(course: Course) -> Begun:
    return Begun(course.key, course.source, course.label, course.started_ms, course.project, course.meta)
