"""What importers yield, and the report of an import: what was added, known already, skipped and why, and conflicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol

from commonplace.memory.conversations import NewConversation, StoredConversation
from commonplace.memory.draft import MAX_TITLE, UNSTORABLE
from commonplace.memory.import_items_and_records import ImportedItem, Replacement
from commonplace.memory.sync_and_archive import RecordOutcome
from commonplace.text.redact import redact
from commonplace.text.sentences import title_of

UNTITLED = "Untitled conversation"
MAX_HELD = 1 << 28
"""Bytes of memory that the text of one value may take while it is read."""
MAX_EXAMPLES, MAX_ALIKE = 100, 10
"""Skipped things that are named one by one, in all and per reason; the others are only counted."""
# How much of a text is read to name a conversation after it.
_TITLE_SOURCE = 20_000

Unit = Literal["file", "project", "conversation", "message", "item", "link", "table", "column"]
Advance = Callable[[int], object]
"""Is called with the number of bytes that were read since the last call."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not imported: what it is, and why."""

    what: str
    why: str
    unit: Unit = "conversation"
    count: int = 1


Entry = NewConversation | ImportedItem | Replacement | Skipped
"""What a reader of a format yields."""


class Stream(Protocol):
    """Where bytes come from."""

    def read(self, size: int = -1, /) -> bytes: ...


def max_held(stream: Stream) -> int:
    """How many bytes of memory a text from this stream may take: less for a small upload."""
    return int(getattr(stream, "max_held", MAX_HELD))


def conversation_label(title: str, first_text: str) -> str:
    """One line that names a conversation: its title, else its beginning. Secrets are redacted before either is cut."""
    return redact(" ".join(title.split()))[:MAX_TITLE] or title_of(redact(first_text[:_TITLE_SOURCE])) or UNTITLED


def stable_key(*parts: object) -> str:
    """A short key for something that has none at its source."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@dataclass(slots=True)
class Tally:
    """How many of something were added, known already, and skipped."""

    added: int = 0
    known: int = 0
    skipped: int = 0


@dataclass(slots=True)
class ImportReport:
    """What became of everything that was read so far. What grew or changed counts as added.

    Items are everything besides conversations: memories, observations, summaries, checkpoints. What had changed both
    here and at the source is a conflict; some of them are named in `disputed`. With `import_id` it can be taken back.
    """

    conversations: Tally = field(default_factory=Tally)
    messages: Tally = field(default_factory=Tally)
    items: Tally = field(default_factory=Tally)
    files: Tally = field(default_factory=Tally)
    reasons: dict[tuple[str, str], int] = field(default_factory=dict)
    examples: list[Skipped] = field(default_factory=list)
    import_id: str = ""
    conflicts: int = 0
    disputed: list[RecordOutcome] = field(default_factory=list)

    def count_stored(self, stored: StoredConversation) -> None:
        self.conversations.added += bool(stored.added)
        self.conversations.known += not stored.added
        self.messages.added += stored.added
        self.messages.known += stored.known

    def count_found(self, found: NewConversation | ImportedItem) -> None:
        """Count what a dry run would store."""
        if isinstance(found, ImportedItem):
            self.items.added += 1
        else:
            self.conversations.added += 1
            self.messages.added += len(found.messages)

    def count_record(self, unit: Unit, outcome: RecordOutcome) -> None:
        """Count what became of a record of an archive."""
        if outcome.result == "failed":
            self.skip(Skipped(f"{unit} {outcome.name}", outcome.why, unit))
        elif tally := self._tally(unit):
            tally.known += outcome.result == "unchanged"
            tally.added += outcome.result != "unchanged"
        if outcome.result == "conflict":
            self.conflicts += 1
            self.disputed += [outcome] * (len(self.disputed) < MAX_EXAMPLES)

    def skip(self, skipped: Skipped) -> None:
        skipped = replace(skipped, what=UNSTORABLE.sub("\ufffd", skipped.what))
        if tally := self._tally(skipped.unit):
            tally.skipped += skipped.count
        reason = (skipped.unit, skipped.why)
        self.reasons[reason] = self.reasons.get(reason, 0) + skipped.count
        alike = sum(one.why == skipped.why for one in self.examples)
        if alike < MAX_ALIKE and len(self.examples) < MAX_EXAMPLES and skipped.unit != "message":
            self.examples.append(skipped)

    def as_json(self, *, dry_run: bool) -> dict[str, Any]:
        """The report for programs, the commonest reasons first."""
        return {
            "dry_run": dry_run,
            "import_id": self.import_id or None,
            "conversations": asdict(self.conversations),
            "messages": asdict(self.messages),
            "items": asdict(self.items),
            "files": {"read": self.files.added, "skipped": self.files.skipped},
            "skipped": self.skipped_by_reason(),
            "examples": [{"what": one.what, "why": one.why} for one in self.examples],
            "conflicts": {
                "count": self.conflicts,
                "named": [
                    {"what": one.what, "name": one.name, "stands": "archive" if one.took else "here"}
                    for one in self.disputed
                ],
            },
        }

    def skipped_by_reason(self) -> list[dict[str, Any]]:
        """How many of what were skipped for which reason, the commonest first."""
        reasons = sorted(self.reasons.items(), key=lambda entry: -entry[1])
        return [{"unit": unit, "why": why, "count": count} for (unit, why), count in reasons]

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
