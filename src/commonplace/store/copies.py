"""What is told of a copy of a store: what it holds, and how it differs from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """What a store or a copy of it holds: how many rows, and the newest item."""

    whole: bool
    schema: int
    counts: Mapping[str, int]
    newest_ms: int | None
    newest_title: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Items that only the store has, only the copy has, or that differ; and a few of those that would go."""

    lost: int
    back: int
    changed: int
    examples: tuple[str, ...]
