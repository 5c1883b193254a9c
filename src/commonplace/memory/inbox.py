"""The inbox: everything that waits for a person to decide.

It has proposals (review.py), statements that contradict or repeat each other (contradictions.py), and old conversations
that could be archived (prune.py). Comparing many statements or conversations is slow, so what came out is kept until
something is written.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from commonplace.memory.contradictions import find_contradictions
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import PRUNE_DAYS, PRUNE_IMPORTANCE, PruneCandidate, find_prunable
from commonplace.memory.review import list_proposals
from commonplace.memory.statement_pairs import MAX_LIMIT, StatementPair, list_contradictions
from commonplace.model import PROPOSED, Item, Scope, Session
from commonplace.text.dates import DAY_MS
from commonplace.text.paths import ROOT_FOLDER

# So many proposals are counted; there may be more.
MOST_PROPOSALS = 100
# The newest so many statements are compared with each other: a person waits for it.
COMPARED_STATEMENTS = 1_500
# So many results are kept, of the spaces and projects that were asked for last.
MAX_RESULTS = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PruneThresholds:
    """Which conversations count as old: without a message for so many days, less important than this, in a folder."""

    days: int = PRUNE_DAYS
    importance: float = PRUNE_IMPORTANCE
    folder: str = ROOT_FOLDER


@dataclass(frozen=True, slots=True)
class Inbox:
    """What waits: of each kind the newest first, of old conversations those that are least likely to be missed."""

    proposals: tuple[Item, ...]
    contradictions: tuple[StatementPair, ...]
    twins: tuple[StatementPair, ...]
    conversations: tuple[PruneCandidate, ...]

    @property
    def total(self) -> int:
        return len(self.proposals) + len(self.contradictions) + len(self.twins) + len(self.conversations)


@dataclass(frozen=True, slots=True)
class ProposalGroup:
    """Proposals of one session, to be decided together; `session` is None for those that came one by one."""

    session: Session | None
    items: tuple[Item, ...]


class _ResultCache:
    """What was made of a store's content, by where and for what; made again once something was written, or a day on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[object, ...], tuple[tuple[int, int], object]] = OrderedDict()

    def get(self, memory: LocalMemory, what: tuple[object, ...], make: Callable[[], T]) -> T:
        place = (memory.store.space_uid(), memory.settings.project, *what)
        moment = (memory.store.last_change(), memory.clock() // DAY_MS)
        with self._lock:
            known = self._made.get(place)
        if known is not None and known[0] == moment:
            return cast("T", known[1])
        made = make()
        with self._lock:
            self._made[place] = (moment, made)
            self._made.move_to_end(place)
            while len(self._made) > MAX_RESULTS:
                self._made.popitem(last=False)
        return made


_results = _ResultCache()


def read_inbox(memory: LocalMemory, project: str = "", prune: PruneThresholds | None = None) -> Inbox:
    """Everything that waits for a decision, of one project or of all."""
    thresholds = prune or PruneThresholds()
    pairs = _results.get(
        memory,
        ("pairs", project),
        lambda: list_contradictions(memory, project or None, MAX_LIMIT, twins=True, scanned=COMPARED_STATEMENTS),
    )
    old = _results.get(
        memory,
        ("old", thresholds),
        lambda: find_prunable(memory, thresholds.days, thresholds.importance, thresholds.folder).candidates,
    )
    # What is only proposed is decided first, and says itself what it goes against.
    agreed = [pair for pair in pairs if PROPOSED not in (pair.older.review, pair.newer.review)]
    return Inbox(
        list_proposals(memory, Scope(project=project or None), MOST_PROPOSALS).items,
        tuple(pair for pair in agreed if pair.reason != "same"),
        tuple(pair for pair in agreed if pair.reason == "same"),
        tuple(one for one in old if not project or one.session.project == project),
    )


def opposed_by(memory: LocalMemory, proposals: Sequence[Item]) -> dict[int, tuple[Item, ...]]:
    """What holds or was rejected and each of some proposals seems to go against, by the id of the proposal."""
    ids = tuple(item.id for item in proposals)
    return _results.get(memory, ("opposed", ids), lambda: {item.id: _opposed_by(memory, item) for item in proposals})


def _opposed_by(memory: LocalMemory, proposal: Item) -> tuple[Item, ...]:
    found = find_contradictions(memory, proposal)
    return tuple(one.item for one in found if one.item.review != PROPOSED)


def proposals_by_session(memory: LocalMemory, proposals: Sequence[Item]) -> list[ProposalGroup]:
    """Proposals in their order, those of one session together where the first of them stands."""
    sessions = memory.store.sessions_of([item.id for item in proposals])
    own: dict[int, list[Item]] = {}
    for item in proposals:
        if item.id in sessions:
            own.setdefault(sessions[item.id].id, []).append(item)
    groups: list[ProposalGroup] = []
    for item in proposals:
        session = sessions.get(item.id)
        together = own[session.id] if session else []
        if session and len(together) > 1:
            if item is together[0]:
                groups.append(ProposalGroup(session, tuple(together)))
        elif groups and groups[-1].session is None:
            groups[-1] = ProposalGroup(None, (*groups[-1].items, item))
        else:
            groups.append(ProposalGroup(None, (item,)))
    return groups
