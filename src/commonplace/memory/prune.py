"""Prune: which conversations could go, each with the reason. Proposes only; archiving is a person's decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import checked_score
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Session
from commonplace.text.dates import DAY_MS
from commonplace.text.near_duplicates import Sketch, sketch_similarity
from commonplace.text.paths import ROOT_FOLDER, is_in_folder, normalise_folder

PRUNE_DAYS, PRUNE_IMPORTANCE = 30, 5.0
MAX_DAYS = 36_500
# Two conversations that share this much of their lines say the same.
NEARLY_ALL = 0.8


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """A conversation that could go."""

    session: Session
    age_days: int
    reason: str
    duplicate_of: Session | None = None


@dataclass(frozen=True, slots=True)
class PruneProposal:
    """What could go, the most dispensable first, and how many bytes of text and metadata it has."""

    candidates: tuple[PruneCandidate, ...]
    bytes: int


def find_prunable(
    memory: LocalMemory, days: int = PRUNE_DAYS, importance: float = PRUNE_IMPORTANCE, folder: str = ROOT_FOLDER
) -> PruneProposal:
    """Active conversations with no message for `days` and less than this importance. Pinned ones never are."""
    if not 0 <= days <= MAX_DAYS:
        raise InvalidInput("Invalid threshold_days", f"Must be between 0 and {MAX_DAYS}")
    now = memory.clock()
    tree = normalise_folder(folder)
    idle = [
        session
        for session in memory.store.idle_sessions(now - days * DAY_MS, _checked_threshold(importance))
        if is_in_folder(session.folder, tree)
    ]
    twins = _near_duplicates(memory, idle) if idle else {}
    found = [_candidate(session, twins.get(session.id), now) for session in idle]
    found.sort(key=lambda c: (c.duplicate_of is None, c.session.importance, -c.age_days, c.session.id))
    return PruneProposal(tuple(found), sum(session.bytes for session in idle))


def _checked_threshold(importance: float) -> float:
    try:
        return checked_score(importance)
    except InvalidInput as error:
        raise InvalidInput("Invalid importance_threshold", error.hint) from None


def _candidate(session: Session, twin: Session | None, now_ms: int) -> PruneCandidate:
    age = max(0, (now_ms - session.ended_ms) // DAY_MS)
    rated = f"{session.importance:g} of 10"
    low = session.importance < PRUNE_IMPORTANCE
    reasons = [f"Low importance ({rated})" if low else f"Importance {rated}", f"no message for {_days(age)}"]
    if session.accessed_ms is None:
        reasons.append("never opened since")
    else:
        opened = (now_ms - session.accessed_ms) // DAY_MS
        reasons.append("opened today" if opened < 1 else f"last opened {_days(opened)} ago")
    if twin is not None:
        reasons.insert(0, f'Near-duplicate of "{twin.label}" ({twin.short_id})')
        reasons[1] = reasons[1].lower()
    return PruneCandidate(session, age, ", ".join(reasons), twin)


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"


def _near_duplicates(memory: LocalMemory, idle: Sequence[Session]) -> Mapping[int, Session]:
    """For each idle session the near-duplicate to keep instead: the more important, then the newer one."""
    sketches = memory.store.sketches()
    saying: defaultdict[Sketch, list[int]] = defaultdict(list)
    for id_, made in sketches.items():
        saying[made].append(id_)
    near = _near({sketches[session.id] for session in idle if session.id in sketches}, saying)
    best = _best_of_each(memory, near, saying)
    twins = {}
    for session in idle:
        alike = near.get(sketches.get(session.id, frozenset()), ())
        better = max((best[made] for made in alike), key=_worth, default=session)
        if _worth(better) > _worth(session):
            twins[session.id] = better
    return twins


def _best_of_each(
    memory: LocalMemory, near: Mapping[Sketch, Sequence[Sketch]], saying: Mapping[Sketch, Sequence[int]]
) -> dict[Sketch, Session]:
    """The session to keep of those with one sketch, for each that is nearly the same as another."""
    others = {other for alike in near.values() for other in alike}
    sessions = memory.store.get_sessions([id_ for made in others for id_ in saying[made]])
    return {made: max((sessions[id_] for id_ in saying[made]), key=_worth) for made in others}


def _near(wanted: Iterable[Sketch], known: Iterable[Sketch]) -> Mapping[Sketch, Sequence[Sketch]]:
    """For each sketch the known ones that are nearly the same, itself too.

    Those lack so few of its lines that they have one of its rarest: common lines need not be looked up.
    """
    holding: defaultdict[int, list[Sketch]] = defaultdict(list)
    for made in known:
        for line in made:
            holding[line].append(made)
    near = {}
    for mine in wanted:
        lacking = int(len(mine) * (1 - NEARLY_ALL) + 0.01)
        rarest = sorted(mine, key=lambda line: len(holding[line]))[: lacking + 1]
        others = {other for line in rarest for other in holding[line]}
        near[mine] = [other for other in others if sketch_similarity(mine, other) >= NEARLY_ALL]
    return near


def _worth(session: Session) -> tuple[float, int, int]:
    return session.importance, session.ended_ms, session.id
