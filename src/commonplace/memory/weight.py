"""Weight: what counts for a hit besides what it says, and why a hit stands where it does.

Importance, who stated it, and how often and how lately it was useful decide between hits that answer about equally
well. They never make something an answer, and nothing is hidden for being old or unused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.memory.authors import trust
from commonplace.memory.conversations import DEFAULT_IMPORTANCE
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item, Session
from commonplace.ranking.fusion import LEXICAL_WEIGHT, Evidence, lexical_signal
from commonplace.ranking.rerank import Weight, WordSets, group_near_duplicates, hit_weight
from commonplace.store.indexed_text import embedding_text

# Of the best so many, those that are no longer than this are compared with each other, to tell the important first.
COMPARED, SHORT_TEXT = 30, 500
# What is less of a score is nothing worth showing.
LEAST_PART = 0.0005


def record_use(memory: LocalMemory, items: Iterable[Item]) -> None:
    """Count that items were useful: opened by somebody, accepted, or used by an agent that they were shown to."""
    ids = [item.id for item in items]
    if ids:
        memory.store.record_use(ids, memory.clock())


def hit_weights(memory: LocalMemory, items: Sequence[Item]) -> dict[int, Weight]:
    """The weight of each item."""
    now, uses = memory.clock(), memory.store.uses([item.id for item in items])
    return {
        item.id: hit_weight(item.importance, trust(item), uses[item.id].now(now) if item.id in uses else 0.0)
        for item in items
    }


def weightiest_first(
    memory: LocalMemory,
    found: Sequence[Item],
    scores: dict[int, float],
    weights: Mapping[int, Weight],
    words: WordSets[Item],
) -> list[Item]:
    """Items in their order, but of those that say nearly the same the weightier first, with the better score."""
    alike = group_near_duplicates([item for item in found[:COMPARED] if len(item.body) <= SHORT_TEXT], words)
    if not alike:
        return list(found)
    sessions = memory.store.sessions_of([item.id for group in alike for item in group if item.importance is None])
    place = {item.id: item for item in found}
    for group in alike:
        ranked = sorted(group, key=lambda item: _rank(item, sessions.get(item.id), weights[item.id]), reverse=True)
        better = [scores[item.id] for item in group]
        for old, new, score in zip(group, ranked, better, strict=True):
            place[old.id] = new
            scores[new.id] = score
    return list(place.values())


def words_of(item: Item) -> str:
    """What an item says and where, to be compared with others."""
    if item.kind == "message":
        # Nobody gave it a title, and its details tell who said it.
        return f"{item.body} {item.project}"
    return embedding_text(item.kind, item.type, item.title, item.body, item.details, ()) + f" {item.project}"


def _rank(item: Item, session: Session | None, weight: Weight) -> tuple[float, bool, float, float]:
    """What is stated comes before the event in which it was said."""
    importance = item.importance
    if importance is None:
        importance = DEFAULT_IMPORTANCE if session is None else session.importance
    return importance, item.kind == "memory", weight.trust, weight.use


@dataclass(slots=True)
class ScoreParts:
    """The scores of items, step by step, to tell what each step added."""

    best_bm25: float
    steps: list[tuple[str, Mapping[int, float]]] = field(default_factory=list)

    def add(self, name: str, scores: dict[int, float]) -> dict[int, float]:
        """Note the scores after a step, which nothing changes from then on."""
        self.steps.append((name, scores))
        return scores

    def of(self, item_id: int, evidence: Evidence, weight: Weight) -> dict[str, float]:
        """What speaks for an item and against it, each as what it adds to the score; nothing that adds nothing."""
        words = LEXICAL_WEIGHT * lexical_signal(evidence, self.best_bm25)
        parts, before = {"words": words}, words
        for name, scores in self.steps:
            now = scores.get(item_id, before)
            parts[name], before = now - before, now
        parts |= {"importance": weight.importance, "trust": weight.trust, "use": weight.use}
        return {name: round(value, 4) for name, value in parts.items() if abs(value) >= LEAST_PART}


class PartsOfScore(Mapping[str, float]):
    """What `ScoreParts.of` says of an item, worked out when somebody asks: few do."""

    __slots__ = ("_made", "_of")

    def __init__(self, parts: ScoreParts, item_id: int, evidence: Evidence, weight: Weight) -> None:
        self._of, self._made = (parts, item_id, evidence, weight), dict[str, float]()

    def __getitem__(self, name: str) -> float:
        return self._parts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts())

    def __len__(self) -> int:
        return len(self._parts())

    def _parts(self) -> dict[str, float]:
        if not self._made:
            parts, item_id, evidence, weight = self._of
            self._made = parts.of(item_id, evidence, weight)
        return self._made
