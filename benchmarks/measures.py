"""How good is a ranking? Figures between 0 and 1 from ranked ids and the ids that answer, averaged over questions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

DEPTHS = (5, 10, 20, 50)
FIRST = 10
# Each dialogue counts the same, however many questions it has.
ALL, EACH = "all", "mean of dialogues"

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Answered:
    """How well one question of a dialogue was answered."""

    dialogue: str
    category: str
    figures: Figures


def figures(ranked: Sequence[str], gold: Collection[str]) -> Figures:
    """Recall (the share of the gold) and hit (any of it) at several depths, NDCG@10, the reciprocal rank, the depth."""
    order = list(dict.fromkeys(ranked))
    made: Figures = {"depth": float(len(order))}
    for depth in DEPTHS:
        there = sum(id_ in gold for id_ in order[:depth])
        made[f"recall@{depth}"] = there / len(gold)
        made[f"hit@{depth}"] = float(there > 0)
    gain = sum(1 / math.log2(place + 2) for place, id_ in enumerate(order[:FIRST]) if id_ in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), FIRST)))
    made["ndcg@10"] = gain / ideal
    made["mrr"] = next((1 / (place + 1) for place, id_ in enumerate(order) if id_ in gold), 0.0)
    return made


def averages(answered: Iterable[Answered]) -> dict[str, Figures]:
    """Means over all questions, over the dialogues' own means, over each category and over each dialogue."""
    rows = list(answered)
    categories, dialogues = defaultdict(list), defaultdict(list)
    for row in rows:
        categories[row.category].append(row.figures)
        dialogues[row.dialogue].append(row.figures)
    of_dialogues = {f"in {name}": _mean(group) for name, group in dialogues.items()}
    return {
        ALL: _mean([row.figures for row in rows]),
        EACH: _mean(list(of_dialogues.values())) | {"n": float(len(of_dialogues))},
        **{name: _mean(group) for name, group in categories.items()},
        **of_dialogues,
    }


def _mean(group: Sequence[Figures]) -> Figures:
    """`n` is how many there are."""
    means = {name: sum(one[name] for one in group) / len(group) for name in group[0]}
    return means | {"n": float(len(group))}
