"""What other products wrote, read without trust: its fields may be missing, of another type or nonsense."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol

from commonplace.memory.conversations import NewConversation, StoredConversation
from commonplace.memory.import_items import ImportedItem, Replacement
from commonplace.memory.remember import MAX_TITLE, UNSTORABLE
from commonplace.memory.sync_records import RecordOutcome
from commonplace.text.redact import redact
from commonplace.text.titles import title_of

UNTITLED = "Untitled conversation"
# A name is taken from how a text begins, and this much of it is looked at.
_LOOKED_AT = 20_000

Unit = Literal["file", "project", "conversation", "message", "item", "link", "table", "column"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not taken over: what it is, where it stands, and why."""

    what: str
    why: str
    unit: Unit = "conversation"
    count: int = 1


Entry = NewConversation | ImportedItem | Replacement | Skipped
MAX_HELD = 1 << 28
"""Bytes of memory that the text of one value may take while it is read."""


class Stream(Protocol):
    """Where bytes come from."""

    def read(self, size: int = -1, /) -> bytes: ...


def max_held(stream: Stream) -> int:
    """How many bytes of memory a text from this stream may take: less for an upload that is small itself."""
    return int(getattr(stream, "max_held", MAX_HELD))


def conversation_label(title: str, first_words: str) -> str:
    """One line that names a conversation: its title, else how it begins. Secrets go before either is cut."""
    return redact(" ".join(title.split()))[:MAX_TITLE] or title_of(redact(first_words[:_LOOKED_AT])) or UNTITLED


def stable_key(*parts: object) -> str:
    """A short name for something that its source gave none."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


EXAMPLES, ALIKE = 100, 10
"""Skipped things that are named one by one, and those for one reason; the others are only counted."""


@dataclass(slots=True)
class Tally:
    """How many of something came in, were known already, and were left out."""

    added: int = 0
    known: int = 0
    skipped: int = 0


@dataclass(slots=True)
class ImportReport:
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
    disputed: list[RecordOutcome] = field(default_factory=list)

    def keep(self, kept: StoredConversation) -> None:
        self.conversations.added += bool(kept.added)
        self.conversations.known += not kept.added
        self.messages.added += kept.added
        self.messages.known += kept.known

    def find(self, found: NewConversation | ImportedItem) -> None:
        """Count what a dry run would keep."""
        if isinstance(found, ImportedItem):
            self.items.added += 1
        else:
            self.conversations.added += 1
            self.messages.added += len(found.messages)

    def settle(self, unit: Unit, told: RecordOutcome) -> None:
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
    def nothing_read(self) -> bool:
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
