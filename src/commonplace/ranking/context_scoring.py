"""Scoring a context: four signals and their composite, with the weights of the Kiro reference, and the token budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

from commonplace.text.dates import DAY_MS

HALF_LIFE_DAYS = 7.0
KNOWLEDGE_BOOST = 3.0
STALE_FACTOR = 0.5
SAME_PROJECT, OTHER_PROJECT = 1.0, 0.5


@dataclass(frozen=True, slots=True)
class Signals:
    """Each between 0 and 1."""

    semantic: float
    fts5: float
    recency: float
    project_match: float


def recency_score(created_ms: int, now_ms: int, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """1 now, 1/2 after a half-life, towards 0; a time in the future counts as now."""
    age_days = max(0, now_ms - created_ms) / DAY_MS
    return math.exp2(-age_days / half_life_days)


def composite_score(signals: Signals, *, with_query: bool) -> float:
    """One number from four: 45/35/10/10 with a query, recency and project 70/30 without."""
    if with_query:
        return 0.45 * signals.semantic + 0.35 * signals.fts5 + 0.10 * signals.recency + 0.10 * signals.project_match
    return 0.70 * signals.recency + 0.30 * signals.project_match


def context_order_key(score: float, *, knowledge: bool, stale: bool = False) -> tuple[bool, float]:
    """Larger comes first. Knowledge counts three times its score and precedes everything else; what is stale sinks."""
    return (knowledge, score * (KNOWLEDGE_BOOST if knowledge else 1.0) * (STALE_FACTOR if stale else 1.0))


class TokenBudget:
    """A number of tokens, spent entry by entry. What does not fit is left out; smaller entries may still follow."""

    def __init__(self, tokens: int, spent: int = 0) -> None:
        self.tokens, self.spent = tokens, spent

    def spend(self, cost: int, share: float = 1.0) -> bool:
        """Spend `cost` if the whole then stays within `share` of the budget."""
        if cost < 0 or self.spent + cost > self.tokens * share:
            return False
        self.spent += cost
        return True
