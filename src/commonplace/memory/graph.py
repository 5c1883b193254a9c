"""The graph: passages belong together by what they mention and by what they follow. Built later, walked within bounds.

A walk starts at passages that answer, goes to the strongest links first, and fades with every hop, however long ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from commonplace.memory.book import Book
from commonplace.model import Item
from commonplace.store.links import Edge
from commonplace.text.references import references

Direction = Literal["both", "backward", "forward"]

# Passages linked in one transaction: few, so that nobody waits for the lock.
STEP = 20
DEPTH, MOST = 20, 10
# What each hop leaves of a weight besides the link's own, and what is too weak to follow.
HOP, WEAKEST = 0.9, 0.01
# Passages whose links are looked up: in all, and in one question to the store.
EXPANSIONS, AT_ONCE = 300, 25
LINKS_EACH = 12


@dataclass(frozen=True, slots=True)
class Reached:
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


def link_some(book: Book) -> bool:
    """Link a few of the passages that were written since the last time. False if there were none."""
    return book.store.link(STEP, references, book.clock()) > 0


def walk(
    book: Book,
    seeds: Mapping[int, float],
    *,
    depth: int = DEPTH,
    most: int = MOST,
    direction: Direction = "both",
    project: str | None = None,
) -> list[Reached]:
    """The passages that belong most to the given ones, which are given with their scores. Nothing is changed."""
    walked = _Walk(book, seeds, depth, most, direction, project)
    best = walked.best()
    if not best:
        return []
    texts = book.store.passage_texts([way.passage for way in best])
    items = book.store.get({text.item_id for text in texts.values()})
    order = {passage: n for n, passage in enumerate(book.store.in_order([*seeds, *texts]))}
    hops = walked.fewest_hops()
    return [
        Reached(
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
        return _Way(to, self.seed, self.hops + 1, self.weight * edge.weight * HOP, edge.rel)


class _Walk:
    """One walk: the strongest ways first, a few at a time, until nothing better can come or enough was looked at."""

    def __init__(
        self, book: Book, seeds: Mapping[int, float], depth: int, most: int, direction: Direction, project: str | None
    ) -> None:
        self._book, self._seeds, self._depth, self._most = book, seeds, depth, most
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
            if way.weight * HOP <= enough:
                break
            if way.hops < self._depth:
                group.append(way)
        return group

    def _go_on(self, way: _Way) -> None:
        for edge, to in self._links[way.passage]:
            further = way.along(edge, to)
            known = self._ways.get(to)
            if further.weight >= WEAKEST * self._seeds[way.seed] and (known is None or further.weight > known.weight):
                self._ways[to] = further
                heappush(self._queue, (-further.weight, to))

    def _look_up(self, passages: list[int]) -> None:
        unknown = [passage for passage in passages if passage not in self._links]
        self._links |= {passage: [] for passage in unknown}
        for edge in self._book.store.neighbours(unknown, LINKS_EACH, self._project) if unknown else ():
            if edge.src in unknown and self._direction != "forward":
                self._links[edge.src].append((edge, edge.dst))
            if edge.dst in unknown and self._direction != "backward":
                self._links[edge.dst].append((edge, edge.src))
