"""Captured: what hooks told of sessions, each event kept once, with one summary and one checkpoint of each session."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from commonplace.errors import InvalidInput, TooLarge
from commonplace.memory.book import Book
from commonplace.memory.conversations import DEFAULT_IMPORTANCE, MAX_LABEL
from commonplace.memory.remember import MAX_SESSION, Note, checked_meta, clean, draft_of
from commonplace.model import Draft, Item, SessionDraft, SessionScope
from commonplace.store.captures import TOLD, Captured, Thread
from commonplace.text.names import normalise_project
from commonplace.text.redact import all_clean
from commonplace.text.summarise import shorten

__all__ = [
    "TOLD",
    "Begun",
    "Happening",
    "Thread",
    "capture",
    "captured_counts",
    "is_edited",
    "known_events",
    "latest_key",
    "marked",
    "thread",
]

UNFIT = "unfit"
"""The outcome of an event that cannot be kept as it is."""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event and what becomes of it. `tokens` is what it cost to find out, where there is something to keep."""

    event: str
    outcome: str
    note: Note | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Begun:
    """A session as hooks know it. One that is there already keeps what it is called."""

    key: str
    source: str
    label: str
    started_ms: int
    project: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict)


def known_events(book: Book, events: Sequence[str]) -> set[str]:
    """Those of the events that were captured before."""
    hashes = {_hash(event): event for event in events}
    return {hashes[known] for known in book.store.known_events(list(hashes))}


def thread(book: Book, key: str, opening: int, recent: int) -> Thread | None:
    """Where a session stands: how it began, what happened last, what is told of it; None if it is new."""
    return book.store.thread(key, opening, recent)


def latest_key(book: Book, source: str, project: str | None, *, but: str) -> str | None:
    """The session of a product that was last in use in a project, apart from one."""
    scope = SessionScope(source=source, project=project, empty=True)
    return next((one.key for one in book.store.latest_sessions(scope, 2) if one.key != but), None)


def capture(
    book: Book, sessions: Sequence[Begun], happenings: Sequence[Happening], told: Sequence[Note]
) -> Counter[str]:
    """Keep what is new, all of it or nothing, and count what became of the events."""
    now = book.clock()
    # Seen in all of them at once that there is no secret, each need not be searched.
    all_clean(text for one in happenings if one.note for text in (one.note.content, *one.note.details.values()))
    events = [_captured(one, now) for one in happenings]
    drafts = [marked(draft_of(note, now, identity=_hash(f"{note.kind} of {note.session}"))) for note in told]
    new = book.store.capture([_session(begun) for begun in sessions], events, drafts, now)
    book.meaning.wake()
    return Counter(event.outcome for event, is_new in zip(events, new, strict=True) if is_new)


def captured_counts(book: Book) -> Mapping[str, int]:
    """How many events became what since the store exists."""
    return book.store.captured()


def is_edited(item: Item) -> bool:
    """Whether a person changed a summary or checkpoint since hooks wrote it."""
    return item.meta.get(TOLD) != _mark(item)


def marked(draft: Draft) -> Draft:
    """A summary or checkpoint as hooks wrote it, so that it is seen whether a person changed it since."""
    return replace(draft, meta={**draft.meta, TOLD: _mark(draft)})


def _mark(told: Draft | Item) -> str:
    said = [told.title, told.body, sorted(told.details.items())]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def _captured(happening: Happening, now_ms: int) -> Captured:
    event = _hash(happening.event)
    if happening.note is None:
        return Captured(event, happening.outcome)
    try:
        draft: Draft = draft_of(happening.note, now_ms, identity=event)
    except (InvalidInput, TooLarge):
        return Captured(event, UNFIT)
    return Captured(event, happening.outcome, replace(draft, tokens=happening.tokens))


def _session(begun: Begun) -> SessionDraft:
    return SessionDraft(
        key=clean(begun.key, "key").strip()[:MAX_SESSION],
        label=shorten(clean(begun.label, "label"), MAX_LABEL),
        folder=f"/sessions/{begun.source}",
        status="active",
        importance=DEFAULT_IMPORTANCE,
        started_ms=begun.started_ms,
        source=begun.source,
        project=None if begun.project is None else normalise_project(begun.project),
        meta=checked_meta(begun.meta),
    )


def _hash(name: str) -> bytes:
    return hashlib.sha256(f"event {name}".encode("utf-8", "replace")).digest()
