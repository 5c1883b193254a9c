"""How good is a ranking? Figures between 0 and 1 from ranked ids and the ids that answer, averaged over questions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

DEPTHS = (5, 10, 20, 50)
FIRST = 10

Figures = dict[str, float]


def figures(ranked: Sequence[str], gold: Collection[str]) -> Figures:
    """Recall (the share of the gold) and hit (any of it) at several depths, NDCG@10 and the reciprocal rank."""
    order = list(dict.fromkeys(ranked))
    made: Figures = {}
    for depth in DEPTHS:
        there = sum(id_ in gold for id_ in order[:depth])
        made[f"recall@{depth}"] = there / len(gold)
        made[f"hit@{depth}"] = float(there > 0)
    gain = sum(1 / math.log2(place + 2) for place, id_ in enumerate(order[:FIRST]) if id_ in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), FIRST)))
    made["ndcg@10"] = gain / ideal
    made["mrr"] = next((1 / (place + 1) for place, id_ in enumerate(order) if id_ in gold), 0.0)
    return made


def averages(rows: Iterable[tuple[str, Figures]]) -> Mapping[str, Figures]:
    """The mean of each figure over all questions, under "all", and over those of each category; `n` counts them."""
    groups: dict[str, list[Figures]] = defaultdict(list)
    for category, made in rows:
        groups["all"].append(made)
        groups[category].append(made)
    return {
        name: {"n": float(len(group))} | {key: sum(one[key] for one in group) / len(group) for key in group[0]}
        for name, group in groups.items()
    }
