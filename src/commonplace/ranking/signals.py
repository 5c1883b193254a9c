"""The four signals of a context and their composite, with the weights of the Kiro reference."""

from __future__ import annotations

import math
from dataclasses import dataclass

HALF_LIFE_DAYS = 7.0
KNOWLEDGE_BOOST = 3.0
STALE_FACTOR = 0.5
SAME_PROJECT, OTHER_PROJECT = 1.0, 0.5

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Signals:
    """Each between 0 and 1."""

    semantic: float
    fts5: float
    recency: float
    project_match: float


def recency(created_ms: int, now_ms: int, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """1 now, 1/2 after a half-life, towards 0; what lies in the future counts as now."""
    age_days = max(0, now_ms - created_ms) / _DAY_MS
    return math.exp2(-age_days / half_life_days)


def composite(signals: Signals, *, with_query: bool) -> float:
    """One number from four: 45/35/10/10 with a query, recency and project 70/30 without."""
    if with_query:
        return 0.45 * signals.semantic + 0.35 * signals.fts5 + 0.10 * signals.recency + 0.10 * signals.project_match
    return 0.70 * signals.recency + 0.30 * signals.project_match


def order_key(score: float, *, knowledge: bool, stale: bool = False) -> tuple[bool, float]:
    """Larger comes first. Knowledge counts three times its score and stands before everything else; the stale sinks."""
    return (knowledge, score * (KNOWLEDGE_BOOST if knowledge else 1.0) * (STALE_FACTOR if stale else 1.0))
