"""What every engine keeps of links between passages: edges from what came later to what came earlier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Protocol

from commonplace.text.references import References

# How much a link of each kind says, between 0 and 1. The first four are lowered by how common their reason is.
WEIGHTS: Mapping[str, float] = {
    "file": 1.0,
    "error": 0.9,
    "name": 0.8,
    "backref": 0.9,
    "adjacent": 0.5,
    "continued": 0.7,
    "brief": 0.9,
    "debrief": 0.9,
    "linked": 0.8,
}
# What stands in so many passages links no more.
COMMON = 200
# Links to the latest that mention the same thing, links of a passage by mentions, passages that a session ends with.
MOST_EACH, MOST_LINKS, ENDING = 3, 12, 3
# Links that an item's own metadata tells, and the least that one of them weighs.
MOST_STATED, WEAKEST = 100, 0.05

Describe = Callable[[str], References]


@dataclass(frozen=True, slots=True)
class Edge:
    """A passage that came later, one that came earlier, and why they belong together."""

    src: int
    dst: int
    rel: str
    weight: float


class Links(Protocol):
    """The graph of one space. Only live items are shown; what is hidden keeps its links for when it comes back."""

    # Link up to `limit` passages that were written since the last time, in their order. How many were done: none also
    # when another process did them first. StoreBusy if others are writing.
    def link(self, limit: int, describe: Describe, now_ms: int) -> int: ...
    def unlinked(self) -> int: ...

    # The edges of these passages, the strongest first; of each at most so many to earlier and so many to later ones.
    def neighbours(self, passage_ids: Sequence[int], most_each: int, project: str | None = None) -> list[Edge]: ...

    # The same passages in the order in which they were said or written.
    def in_order(self, passage_ids: Sequence[int]) -> list[int]: ...


def weight_of(rel: str, mentioned: int = 1) -> float:
    """The weight of a link, given how many earlier passages mention its reason: half for what is nearly common."""
    return WEIGHTS[rel] * (1 - 0.5 * log(max(mentioned, 1)) / log(COMMON))
