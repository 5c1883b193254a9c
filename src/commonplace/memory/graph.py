"""The graph: passages belong together by what they mention and by what they follow. Built later, walked within bounds.

A walk starts at passages that answer, goes to the strongest links first, and fades with every hop, however long ago.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal

from commonplace.errors import StoreError
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Scope, Session, SessionScope
from commonplace.store.types import Edge
from commonplace.text.dates import EARLIEST_MS, LATEST_MS
from commonplace.text.references import references

if TYPE_CHECKING:
    from commonplace.memory.contradictions import Contradiction

Direction = Literal["both", "backward", "forward"]

# Passages linked in one transaction: few, so that nobody waits for the lock.
STEP = 20
# What a program that runs once links before it answers, in such steps: about a second of work.
LINK_STEPS = 50
DEFAULT_DEPTH, DEFAULT_MOST = 20, 10
# What each hop leaves of a weight besides the link's own, and what is too weak to follow.
HOP_FACTOR, MIN_WEIGHT = 0.9, 0.01
# Passages whose links are looked up: in all, and in one question to the store.
EXPANSIONS, AT_ONCE = 300, 25
LINKS_EACH = 12


@dataclass(frozen=True, slots=True)
class LinkedPassage:
    """A passage that a walk came to. `forward` means that it came later than where the walk to it began.

    `hops` are the fewest that lead to it; `weight` is that of the best way, times the score of its beginning; `rel` is
    the last link of that way.
    """

    passage_id: int
    item: Item
    text: str
    relation: Literal["backward", "forward"]
    hops: int
    weight: float
    rel: str


def link_new_passages(memory: LocalMemory) -> bool:
    """Link a few of the passages that were written since the last time. False if there were none."""
    return memory.maintenance.link(STEP, references, memory.clock()) > 0


def link_pending(memory: LocalMemory, steps: int = LINK_STEPS) -> None:
    """Link what was just written, so that its neighbours are found. A store that cannot be written still answers."""
    with contextlib.suppress(StoreError):
        for _ in range(steps):
            if not link_new_passages(memory):
                break


def walk_links(
    memory: LocalMemory,
    seeds: Mapping[int, float],
    *,
    depth: int = DEFAULT_DEPTH,
    most: int = DEFAULT_MOST,
    direction: Direction = "both",
    project: str | None = None,
) -> list[LinkedPassage]:
    """The passages that belong most to the given ones, which are given with their scores. Nothing is changed."""
    walked = _Walk(memory, seeds, depth, most, direction, project)
    best = walked.best()
    if not best:
        return []
    texts = memory.store.passage_texts([way.passage for way in best])
    items = memory.store.get({text.item_id for text in texts.values()})
    order = {passage: n for n, passage in enumerate(memory.store.sort_by_time([*seeds, *texts]))}
    hops = walked.fewest_hops()
    return [
        LinkedPassage(
            passage_id=way.passage,
            item=items[texts[way.passage].item_id],
            text=texts[way.passage].text,
            relation="forward" if order[way.passage] > order.get(way.seed, 0) else "backward",
            hops=hops[way.passage],
            weight=way.weight,
            rel=way.rel,
        )
        for way in best
        if way.passage in texts and texts[way.passage].item_id in items
    ]


@dataclass(frozen=True, slots=True)
class _Way:
    """The best way known to a passage."""

    passage: int
    seed: int
    hops: int
    weight: float
    rel: str

    def along(self, edge: Edge, to: int) -> _Way:
        return _Way(to, self.seed, self.hops + 1, self.weight * edge.weight * HOP_FACTOR, edge.rel)


class _Walk:
    """One walk: the strongest paths first, a few at a time, until nothing better can come or the limit is reached."""

    def __init__(
        self,
        memory: LocalMemory,
        seeds: Mapping[int, float],
        depth: int,
        most: int,
        direction: Direction,
        project: str | None,
    ) -> None:
        self._memory, self._seeds, self._depth, self._most = memory, seeds, depth, most
        self._direction, self._project = direction, project
        self._ways = {seed: _Way(seed, seed, 0, score, "") for seed, score in seeds.items()}
        self._links: dict[int, list[tuple[Edge, int]]] = {}
        self._queue: list[tuple[float, int]] = []
        for seed, score in seeds.items():
            heappush(self._queue, (-score, seed))

    def best(self) -> list[_Way]:
        while group := self._next_group():
            self._look_up([way.passage for way in group])
            for way in group:
                self._go_on(way)
        return self._reached()

    def fewest_hops(self) -> dict[int, int]:
        """From any seed, by the links that were looked at."""
        hops = dict.fromkeys(self._seeds, 0)
        border = list(hops)
        while border:
            found = {to: hops[passage] + 1 for passage in border for _edge, to in self._links.get(passage, ())}
            border = [to for to in found if to not in hops]
            hops |= {to: found[to] for to in border}
        return hops

    def _reached(self) -> list[_Way]:
        found = [way for passage, way in self._ways.items() if passage not in self._seeds]
        return sorted(found, key=lambda way: (-way.weight, way.hops, way.passage))[: self._most]

    def _next_group(self) -> list[_Way]:
        """The strongest ways that are not followed yet and may still lead to something better than what is found."""
        found = self._reached()
        enough = found[-1].weight if len(found) == self._most else 0.0
        group: list[_Way] = []
        while self._queue and len(group) < AT_ONCE and len(self._links) + len(group) < EXPANSIONS:
            weight, passage = heappop(self._queue)
            way = self._ways[passage]
            if -weight != way.weight:
                continue
            if way.weight * HOP_FACTOR <= enough:
                break
            if way.hops < self._depth:
                group.append(way)
        return group

    def _go_on(self, way: _Way) -> None:
        for edge, to in self._links[way.passage]:
            further = way.along(edge, to)
            known = self._ways.get(to)
            if further.weight >= MIN_WEIGHT * self._seeds[way.seed] and (
                known is None or further.weight > known.weight
            ):
                self._ways[to] = further
                heappush(self._queue, (-further.weight, to))

    def _look_up(self, passages: list[int]) -> None:
        unknown = [passage for passage in passages if passage not in self._links]
        self._links |= {passage: [] for passage in unknown}
        for edge in self._memory.store.edges_of(unknown, LINKS_EACH, self._project) if unknown else ():
            if edge.src in unknown and self._direction != "forward":
                self._links[edge.src].append((edge, edge.dst))
            if edge.dst in unknown and self._direction != "backward":
                self._links[edge.dst].append((edge, edge.src))


NEARBY_ITEMS = 3
LINKED = 12
# The first passages of a long item tell what it is about.
FIRST_PASSAGES = 20


@dataclass(frozen=True, slots=True)
class RelatedItems:
    """The neighbours of an item. `before` and `after` are of its session, in the order in which they came."""

    session: Session | None
    before: tuple[Item, ...]
    after: tuple[Item, ...]
    replaced_by: Item | None
    replaced: tuple[Item, ...]
    opposed: tuple[Contradiction, ...]
    linked: tuple[LinkedPassage, ...]


def related_items(memory: LocalMemory, item: Item) -> RelatedItems:
    """Everything that leads on from an item. What was forgotten belongs to nothing but what replaced it."""
    # Servers load this module when they start, and only pages show contradictions.
    from commonplace.memory.contradictions import find_contradictions

    session = memory.store.sessions_of([item.id]).get(item.id)
    above = memory.store.get([] if item.superseded_by is None else [item.superseded_by])
    below = memory.store.get(memory.store.superseded(item.id))
    live = item.forgotten_ms is None and item.superseded_by is None
    before, after = (_nearby(memory, item, session, later=later) for later in (False, True))
    shown = {one.id for one in (item, *before, *after, *below.values())}
    return RelatedItems(
        session,
        before,
        after,
        next(iter(above.values()), None),
        tuple(sorted(below.values(), key=lambda one: -one.id)),
        tuple(find_contradictions(memory, item)) if live else (),
        tuple(_linked(memory, item, shown)) if live else (),
    )


def _nearby(memory: LocalMemory, item: Item, session: Session | None, *, later: bool) -> tuple[Item, ...]:
    if session is None:
        return ()
    scope = Scope(sessions=SessionScope(ids=(session.id,), empty=True))
    first, last = (item.created_ms, LATEST_MS) if later else (EARLIEST_MS, item.created_ms + 1)
    here = (item.created_ms, item.id)
    found = memory.store.items_between(scope, first, last, NEARBY_ITEMS, here, oldest_first=later)
    return tuple(found if later else reversed(found))


def _linked(memory: LocalMemory, item: Item, shown: Collection[int]) -> Sequence[LinkedPassage]:
    """The nearest passages of items that are not shown otherwise, one of each."""
    passages = memory.store.passages_of([item.id]).get(item.id, [])[:FIRST_PASSAGES]
    reached = walk_links(memory, dict.fromkeys(passages, 1.0), depth=1, most=2 * LINKED)
    found: dict[int, LinkedPassage] = {}
    for one in reached:
        if one.item.id not in shown:
            found.setdefault(one.item.id, one)
    return list(found.values())[:LINKED]
