"""Review: everything that waits for a person to decide, and what agents and capture proposed among it.

A proposal is found by search, marked as one, and ranks below what is agreed; rules, contexts and rule files leave it
out. Who accepts it becomes its author; a proposed change of a memory is carried out then. A dismissed one is forgotten.
Both can be undone.

The inbox has proposals, statements that contradict or repeat each other (contradictions.py), and old conversations that
could be archived (prune.py). Comparing many statements or conversations is slow, so what came out is kept until
something is written.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from commonplace.errors import Conflict
from commonplace.memory.contradictions import MAX_LIMIT, StatementPair, find_contradictions, list_contradictions
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import ItemPage, browse_items, get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import require_person
from commonplace.memory.proposed_changes import carry_out, is_change, put_away, replaced_when_accepted, take_back
from commonplace.memory.prune import PRUNE_DAYS, PRUNE_IMPORTANCE, PruneCandidate, find_prunable
from commonplace.memory.rerank import record_use
from commonplace.memory.statement_texts import statement_text
from commonplace.model import ACCEPTED, DISMISSED, PROPOSED, VALIDITY_FIELDS, Item, Scope, Session
from commonplace.text.dates import DAY_MS, short_iso_time
from commonplace.text.paths import ROOT_FOLDER
from commonplace.text.sentences import title_of

# So many proposals are counted; there may be more.
MOST_PROPOSALS = 100
# The newest so many statements are compared with each other: a person waits for it.
COMPARED_STATEMENTS = 1_500
# So many results are kept, of the spaces and projects that were asked for last.
MAX_RESULTS = 64

T = TypeVar("T")


def list_proposals(
    memory: LocalMemory, scope: Scope | None = None, limit: int = 20, cursor: str | None = None
) -> ItemPage:
    """What waits for a decision, the newest first."""
    return browse_items(memory, replace(scope or Scope(), review=PROPOSED), limit, cursor)


def count_proposals(memory: LocalMemory, most: int = 100) -> int:
    """How many wait, up to so many."""
    return len(memory.store.newest(Scope(review=PROPOSED), most))


def accept(memory: LocalMemory, ids: Sequence[int | str], seen: Mapping[int | str, int] | None = None) -> list[Item]:
    """Agree with proposals: they count as agreed from now on, and whoever accepts them is their author.

    `seen` has the revisions that the person read: what was changed since is not what they agreed with.
    """
    _require_person(memory)
    items = [_waiting(memory, id_, (seen or {}).get(id_)) for id_ in ids]
    now = memory.clock()
    for item in items:
        carry_out(memory, item, now)
    memory.store.review([item.id for item in items], ACCEPTED, now, memory.writer)
    for item in items:
        put_away(memory, item, now)
    record_use(memory, items)
    return [get_item(memory, item.id, forgotten=True) for item in items]


def accept_changed(memory: LocalMemory, id_: int | str, changes: Changes, expect_rev: int | None = None) -> Item:
    """Change a proposal and agree with what it says then."""
    _require_person(memory)
    item = _waiting(memory, id_, expect_rev)
    if changes != Changes():
        edit_item(memory, item.id, changes, expect_rev)
    if get_item(memory, item.id).review == PROPOSED:
        return accept(memory, [item.id])[0]
    # The person's own words need no acceptance; what they were to replace, they replace.
    carry_out(memory, item, memory.clock())
    return get_item(memory, item.id)


def dismiss(memory: LocalMemory, ids: Sequence[int | str]) -> list[Item]:
    """Turn proposals down: they vanish from every answer, and are not proposed again. `undo_review` undoes it."""
    _require_person(memory)
    items = [_waiting(memory, id_) for id_ in ids]
    memory.store.review([item.id for item in items], DISMISSED, memory.clock(), memory.writer)
    return [get_item(memory, item.id, forgotten=True) for item in items]


def undo_review(memory: LocalMemory, id_: int | str) -> Item:
    """Let something that was accepted or dismissed wait for review again, as whoever proposed it wrote it."""
    _require_person(memory)
    item = get_item(memory, id_, forgotten=True)
    if item.review not in (ACCEPTED, DISMISSED):
        raise Conflict(f"Item {item.id} was neither accepted nor dismissed.", "There is nothing to undo.")
    take_back(memory, item)
    memory.store.review([item.id], PROPOSED, memory.clock(), memory.writer)
    memory.embeddings.wake()
    return get_item(memory, item.id)


def said_besides(memory: LocalMemory, item: Item) -> list[str]:
    """What accepting a proposal says or does besides its text. A proposed change says all of it itself."""
    if is_change(item):
        return []
    fields = {name: value for name, value in item.details.items() if value and value != item.text}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    if item.body.strip() and item.title != title_of(item.body):
        lines.insert(0, f"title: {item.title}")
    if item.tags:
        lines.append(f"tags: {', '.join(sorted(item.tags))}")
    bounds = {name.removesuffix("_ms").replace("_", " "): getattr(item, name) for name in VALIDITY_FIELDS}
    lines += [f"{name}: {short_iso_time(moment)}" for name, moment in bounds.items() if moment is not None]
    if (replaced := replaced_when_accepted(memory, item)) is not None:
        lines.append(f"replaces {replaced.type} {replaced.short_id}: {statement_text(replaced)}")
    return lines


def _waiting(memory: LocalMemory, id_: int | str, seen: int | None = None) -> Item:
    item = get_item(memory, id_)
    if item.review != PROPOSED:
        raise Conflict(f"Item {item.id} is not waiting for review.", "`commonplace review --list` shows what is.")
    # That somebody decided about it and took that back is no change of what it says.
    if seen is not None and any(line.rev >= seen and line.op == "edit" for line in memory.store.history(item.id)):
        raise Conflict(f"Item {item.id} was changed since you read it.", "Read it again, and decide then.")
    return item


def _require_person(memory: LocalMemory) -> None:
    """What an agent proposed no agent may accept, or the review would be worth nothing."""
    require_person(memory, "review", "Review it yourself: `commonplace review`, or the Review page of the dashboard.")


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
