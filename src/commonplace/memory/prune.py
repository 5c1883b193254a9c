"""Prune: which conversations could go, each with the reason. Proposes only; archiving is a person's decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.conversations import checked_score
from commonplace.model import Session
from commonplace.text.folders import ROOT, folder_path, lies_in
from commonplace.text.sketch import Sketch, similarity

DEFAULT_DAYS, DEFAULT_IMPORTANCE = 30, 5.0
MAX_DAYS = 36_500
# Two conversations that share this much of their lines say the same.
NEARLY_ALL = 0.8
_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A conversation that could go."""

    session: Session
    age_days: int
    reason: str
    duplicate_of: Session | None = None


@dataclass(frozen=True, slots=True)
class Pruning:
    """What could go, the most dispensable first, and how many bytes of text and metadata it has."""

    candidates: tuple[Candidate, ...]
    bytes: int


def prune(book: Book, days: int = DEFAULT_DAYS, importance: float = DEFAULT_IMPORTANCE, folder: str = ROOT) -> Pruning:
    """Active conversations with no message for `days` and less than this importance. Pinned ones never are."""
    if not 0 <= days <= MAX_DAYS:
        raise InvalidInput("Invalid threshold_days", f"Must be between 0 and {MAX_DAYS}")
    now = book.clock()
    tree = folder_path(folder)
    idle = [
        session
        for session in book.store.idle_sessions(now - days * _DAY, _checked_threshold(importance))
        if lies_in(session.folder, tree)
    ]
    twins = _twins(book, idle) if idle else {}
    found = [_candidate(session, twins.get(session.id), now) for session in idle]
    found.sort(key=lambda c: (c.duplicate_of is None, c.session.importance, -c.age_days, c.session.id))
    return Pruning(tuple(found), sum(session.bytes for session in idle))


def _checked_threshold(importance: float) -> float:
    try:
        return checked_score(importance)
    except InvalidInput as error:
        raise InvalidInput("Invalid importance_threshold", error.hint) from None


def _candidate(session: Session, twin: Session | None, now_ms: int) -> Candidate:
    age = max(0, (now_ms - session.ended_ms) // _DAY)
    rated = f"{session.importance:g} of 10"
    low = session.importance < DEFAULT_IMPORTANCE
    reasons = [f"Low importance ({rated})" if low else f"Importance {rated}", f"no message for {_days(age)}"]
    if session.accessed_ms is None:
        reasons.append("never opened since")
    else:
        opened = (now_ms - session.accessed_ms) // _DAY
        reasons.append("opened today" if opened < 1 else f"last opened {_days(opened)} ago")
    if twin is not None:
        reasons.insert(0, f'Near-duplicate of "{twin.label}" ({twin.short_id})')
        reasons[1] = reasons[1].lower()
    return Candidate(session, age, ", ".join(reasons), twin)


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"


def _twins(book: Book, idle: Sequence[Session]) -> Mapping[int, Session]:
    """For each idle session the one that says nearly the same and is rather kept: more important, then newer."""
    sketches = book.store.sketches()
    sharing: defaultdict[int, list[int]] = defaultdict(list)
    wanted = {line for session in idle for line in sketches.get(session.id, ())}
    for id_, made in sketches.items():
        for line in made & wanted:
            sharing[line].append(id_)
    pairs = {session.id: _alike(session.id, sketches, sharing) for session in idle}
    sessions = book.store.get_sessions({other for alike in pairs.values() for other in alike})
    twins = {}
    for session in idle:
        better = [sessions[other] for other in pairs[session.id] if _worth(sessions[other]) > _worth(session)]
        if better:
            twins[session.id] = max(better, key=_worth)
    return twins


def _alike(id_: int, sketches: Mapping[int, Sketch], sharing: Mapping[int, Sequence[int]]) -> list[int]:
    mine = sketches.get(id_, frozenset())
    others = {other for line in mine for other in sharing.get(line, ()) if other != id_}
    return [other for other in others if similarity(mine, sketches[other]) >= NEARLY_ALL]


def _worth(session: Session) -> tuple[float, int, int]:
    return session.importance, session.ended_ms, session.id
