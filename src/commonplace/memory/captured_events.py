"""Events that hooks captured: each stored once, with one summary and one checkpoint of each session."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from commonplace.errors import InvalidInput, TooLarge
from commonplace.memory.authors import for_capture, sign
from commonplace.memory.conversations import MAX_LABEL
from commonplace.memory.draft import MAX_SESSION, NewItem, checked_meta, clean_text, make_draft
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import DEFAULT_IMPORTANCE, Draft, Item, Scope, SessionDraft, SessionScope
from commonplace.store.maintenance import HOOK_DIGEST as HOOK_DIGEST
from commonplace.store.maintenance import CapturedEvent
from commonplace.store.maintenance import SessionProgress as SessionProgress
from commonplace.text.dates import DAY_MS
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import have_no_secrets, redact
from commonplace.text.sentences import shorten

REJECTED = "unfit"
"""The outcome of an event that cannot be stored."""


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """An event and what becomes of it. `tokens` is what it cost to find out, where there is something to keep."""

    event: str
    outcome: str
    note: NewItem | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A session as hooks know it. One that is there already keeps what it is called."""

    key: str
    source: str
    label: str
    started_ms: int
    project: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict)


def known_events(memory: LocalMemory, events: Sequence[str]) -> set[str]:
    """Those of the events that were captured before."""
    hashes = {_hash(event): event for event in events}
    return {hashes[known] for known in memory.maintenance.known_events(list(hashes))}


def session_thread(memory: LocalMemory, key: str, opening: int, recent: int) -> SessionProgress | None:
    """The progress of a session: how it began, what happened last, its summary; None if it is new."""
    return memory.maintenance.session_progress(key, opening, recent)


def latest_session_key(memory: LocalMemory, source: str, project: str | None, *, but: str) -> str | None:
    """The session of a product that was last in use in a project, apart from one."""
    scope = SessionScope(source=source, project=project, empty=True)
    return next((one.key for one in memory.store.latest_sessions(scope, 2) if one.key != but), None)


def store_captured(
    memory: LocalMemory,
    sessions: Sequence[StartedSession],
    happenings: Sequence[EventOutcome],
    summaries: Sequence[NewItem],
) -> Counter[str]:
    """Store what is new, all of it or nothing, and count the outcomes of the events."""
    now = memory.clock()
    # Seen in all of them at once that there is no secret, each need not be searched.
    have_no_secrets(text for one in happenings if one.note for text in (one.note.content, *one.note.details.values()))
    hosts = {clean_key(begun.key): begun.source for begun in sessions}
    whose = {host: for_capture(memory, host) for host in {"", *hosts.values()}}

    def signed(draft: Draft) -> Draft:
        return sign(whose[hosts.get(draft.session or "", "")], draft)

    events = [_captured(one, now, signed) for one in happenings]
    drafts = [
        signed(mark_as_written(make_draft(note, now, identity=_hash(f"{note.kind} of {note.session}"))))
        for note in summaries
    ]
    new = memory.maintenance.capture_events([_session(begun) for begun in sessions], events, drafts, now)
    memory.embeddings.wake()
    return Counter(event.outcome for event, is_new in zip(events, new, strict=True) if is_new)


def outcome_counts(memory: LocalMemory) -> Mapping[str, int]:
    """How many events became what since the store exists."""
    return memory.store.capture_counts()


def is_edited_by_person(item: Item) -> bool:
    """Whether a person changed a summary or checkpoint since hooks wrote it."""
    return item.meta.get(HOOK_DIGEST) != _mark(item)


def mark_as_written(draft: Draft) -> Draft:
    """A summary or checkpoint as hooks wrote it, so that it is seen whether a person changed it since."""
    return replace(draft, meta={**draft.meta, HOOK_DIGEST: _mark(draft)})


def _mark(written: Draft | Item) -> str:
    content = [written.title, written.body, sorted(written.details.items())]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _captured(happening: EventOutcome, now_ms: int, signed: Callable[[Draft], Draft]) -> CapturedEvent:
    event = _hash(happening.event)
    if happening.note is None:
        return CapturedEvent(event, happening.outcome)
    # What somebody stated is the same whenever it is said; what happened is an event of its own.
    identity = None if happening.note.kind == "memory" else event
    try:
        draft = signed(make_draft(happening.note, now_ms, identity=identity))
    except (InvalidInput, TooLarge):
        return CapturedEvent(event, REJECTED)
    return CapturedEvent(event, happening.outcome, replace(draft, tokens=happening.tokens))


def _session(begun: StartedSession) -> SessionDraft:
    return SessionDraft(
        key=clean_key(begun.key),
        label=shorten(clean_text(begun.label, "label"), MAX_LABEL),
        folder=f"/sessions/{begun.source}",
        status="active",
        importance=DEFAULT_IMPORTANCE,
        started_ms=begun.started_ms,
        source=begun.source,
        project=None if begun.project is None else normalise_project(begun.project),
        meta=checked_meta(begun.meta),
    )


def clean_key(key: str) -> str:
    """The key of a session as it is stored."""
    return clean_text(key, "key").strip()[:MAX_SESSION]


def _hash(name: str) -> bytes:
    return hashlib.sha256(f"event {name}".encode("utf-8", "replace")).digest()


ANSWER_TYPE = "answer"
# A long answer was cut when it was captured, so that only its beginning can be compared.
_COMPARED_CHARACTERS = 500
# How far apart the clocks of a hook and of a transcript may be, and how many messages of that time are looked at.
_AROUND_MS, _MAX_NEAR = DAY_MS, 50
_MAX_ANSWERS = 5_000


def answer_in_transcript(memory: LocalMemory, session: str, answer: str, at_ms: int) -> bool:
    """Whether a message of the session from about that time holds this answer."""
    found = memory.maintenance.session_progress(session, 0, 0)
    if found is None:
        return False
    scope = Scope(kinds=("message",), sessions=_only(found.session.id))
    near = memory.store.items_between(scope, at_ms - _AROUND_MS, at_ms + _AROUND_MS, _MAX_NEAR)
    return any(_holds(message.body, answer) for message in near if message.details.get("role") == "assistant")


def is_captured(memory: LocalMemory, session_id: int) -> bool:
    """Whether hooks saw something of a session."""
    scope = Scope(kinds=("observation",), sessions=_only(session_id))
    return bool(memory.store.items_between(scope, 0, memory.clock() + _AROUND_MS, 1))


class CapturedAnswers:
    """The captured answers of one session, while the messages of its transcript come in."""

    def __init__(self, memory: LocalMemory, session_id: int) -> None:
        scope = Scope(kinds=("observation",), types=(ANSWER_TYPE,), sessions=_only(session_id))
        self._memory = memory
        self._open: list[Item] = memory.store.items_between(scope, 0, memory.clock() + _AROUND_MS, _MAX_ANSWERS)

    def replace_by(self, messages: Iterable[tuple[int, str]]) -> None:
        """Let each message, an id and what it says, replace the answers that it holds."""
        for message_id, message in messages if self._open else ():
            text = redact(message)
            held = [answer for answer in self._open if _holds(text, answer.body)]
            for answer in held:
                self._memory.store.supersede(answer.id, message_id, self._memory.clock(), self._memory.writer)
            self._open = [answer for answer in self._open if answer not in held]


def _only(session_id: int) -> SessionScope:
    return SessionScope(ids=(session_id,), empty=True)


def _holds(message: str, answer: str) -> bool:
    start = " ".join(answer.split())[:_COMPARED_CHARACTERS]
    return bool(start) and start in " ".join(message.split())


SENTENCE_KEY = "sentence"
"""In the metadata of a proposed memory: the sentence of the prompt that states it."""
CAPTURED, DROPPED, CONTINUED, PROPOSED = "kept", "dropped", "led", "proposed"


@dataclass(frozen=True, slots=True)
class CaptureCounts:
    """What became of events: how many observations of each type, what was dropped and why, what led a session on.

    `proposed` counts, by type, memories that were proposed because a prompt stated them. `known` events
    had been captured before; `unfit` ones could not be stored.
    """

    captured: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    led: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    unfit: int = 0
    proposed: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: Mapping[str, int], events: int = 0) -> CaptureCounts:
        """From how many outcomes there were of each kind. Those of `events` without one were known."""
        groups: dict[str, dict[str, int]] = {CAPTURED: {}, DROPPED: {}, CONTINUED: {}, PROPOSED: {}}
        unfit = 0
        for outcome, number in sorted(outcomes.items()):
            group, _, name = outcome.partition(":")
            if group in groups:
                groups[group][name] = number
            else:
                unfit += number
        taken = sum(outcomes.values()) - sum(groups[PROPOSED].values())
        known = max(0, events - taken)
        return cls(groups[CAPTURED], groups[DROPPED], groups[CONTINUED], known, unfit, groups[PROPOSED])


def capture_counts(memory: LocalMemory) -> CaptureCounts:
    """The same of all events since the store exists, for those who want to know what was dropped."""
    return CaptureCounts.of(outcome_counts(memory))
