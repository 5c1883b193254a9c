"""What a scenario did and found, and how it is told."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """Counts of one run of one scenario. Anything lost, unsound or refused is a failure."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    unsound: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    """How often each thing happened: kills, faults, starts, reads."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def failed(self) -> bool:
        return bool(self.lost or self.unsound or self.refused)

    def count(self, what: str, times: int = 1) -> None:
        with self.lock:
            self.done[what] += times

    def add(self, later: Outcome) -> None:
        """What another run did, too."""
        self.acknowledged += later.acknowledged
        for mine, theirs in zip(self._complaints(), later._complaints(), strict=True):
            mine += theirs
        self.done += later.done

    def output(self) -> str:
        """One line."""
        done = ", ".join(f"{count:,} {what}" for what, count in sorted(self.done.items()))
        wrong = f"{len(self.lost)} lost, {len(self.unsound)} unsound, {len(self.refused)} refused"
        return f"{self.acknowledged:,} acknowledged, {wrong}; {done}"

    def complaints(self) -> list[str]:
        """Everything that is wrong, in words."""
        named = zip(("lost", "unsound", "refused"), self._complaints(), strict=True)
        return [f"{name}: {one}" for name, some in named for one in some]

    def _complaints(self) -> tuple[list[str], list[str], list[str]]:
        return self.lost, self.unsound, self.refused
