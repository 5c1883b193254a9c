"""The summary of an import: how much came in, what was known, what was left out and why, and what disagreed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from commonplace.capture.foreign import Skipped, Unit
from commonplace.memory.conversations import Conversation, Kept
from commonplace.memory.records import Told
from commonplace.memory.remember import UNSTORABLE
from commonplace.memory.take_in import Arrival

EXAMPLES, ALIKE = 100, 10
"""Skipped things that are named one by one, and those for one reason; the others are only counted."""


@dataclass(slots=True)
class Tally:
    """How many of something came in, were known already, and were left out."""

    added: int = 0
    known: int = 0
    skipped: int = 0


@dataclass(slots=True)
class Summary:
    """What became of everything that was read so far. What only grew or changed counts as added.

    Items are all that is remembered besides conversations: memories, observations, summaries, checkpoints. What had
    changed both here and there is a conflict, and some of them are `disputed` by name.
    """

    conversations: Tally = field(default_factory=Tally)
    messages: Tally = field(default_factory=Tally)
    items: Tally = field(default_factory=Tally)
    files: Tally = field(default_factory=Tally)
    reasons: dict[tuple[str, str], int] = field(default_factory=dict)
    examples: list[Skipped] = field(default_factory=list)
    conflicts: int = 0
    disputed: list[Told] = field(default_factory=list)

    def keep(self, kept: Kept) -> None:
        self.conversations.added += bool(kept.added)
        self.conversations.known += not kept.added
        self.messages.added += kept.added
        self.messages.known += kept.known

    def find(self, found: Conversation | Arrival) -> None:
        """Count what a dry run would keep."""
        if isinstance(found, Arrival):
            self.items.added += 1
        else:
            self.conversations.added += 1
            self.messages.added += len(found.messages)

    def settle(self, unit: Unit, told: Told) -> None:
        """Count what became of a record."""
        if told.result == "failed":
            self.skip(Skipped(f"{unit} {told.name}", told.why, unit))
        elif tally := self._tally(unit):
            tally.known += told.result == "unchanged"
            tally.added += told.result != "unchanged"
        if told.result == "conflict":
            self.conflicts += 1
            self.disputed += [told] * (len(self.disputed) < EXAMPLES)

    def skip(self, skipped: Skipped) -> None:
        skipped = replace(skipped, what=UNSTORABLE.sub("\ufffd", skipped.what))
        if tally := self._tally(skipped.unit):
            tally.skipped += skipped.count
        reason = (skipped.unit, skipped.why)
        self.reasons[reason] = self.reasons.get(reason, 0) + skipped.count
        alike = sum(one.why == skipped.why for one in self.examples)
        if alike < ALIKE and len(self.examples) < EXAMPLES and skipped.unit != "message":
            self.examples.append(skipped)

    def told(self, *, dry_run: bool) -> dict[str, Any]:
        """The same for programs, the commonest reasons first."""
        return {
            "dry_run": dry_run,
            "conversations": asdict(self.conversations),
            "messages": asdict(self.messages),
            "items": asdict(self.items),
            "files": {"read": self.files.added, "skipped": self.files.skipped},
            "skipped": [
                {"unit": unit, "why": why, "count": count}
                for (unit, why), count in sorted(self.reasons.items(), key=lambda entry: -entry[1])
            ],
            "examples": [{"what": one.what, "why": one.why} for one in self.examples],
            "conflicts": {
                "count": self.conflicts,
                "named": [
                    {"what": one.what, "name": one.name, "stands": "archive" if one.took else "here"}
                    for one in self.disputed
                ],
            },
        }

    @property
    def fruitless(self) -> bool:
        """Whether nothing could be read at all."""
        return not any(tally.added or tally.known for tally in (self.conversations, self.items))

    def _tally(self, unit: Unit) -> Tally | None:
        tallies: dict[Unit, Tally] = {
            "file": self.files,
            "conversation": self.conversations,
            "message": self.messages,
            "item": self.items,
        }
        return tallies.get(unit)
