"""Sync records: a memory as records that are compared and merged with those of another one.

What goes out and what comes in is cleaned of secrets like any other text; `Extent` says what may go out at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.errors import CommonplaceError, InvalidInput, StoreConstraint
from commonplace.memory.incoming_records import parse_record
from commonplace.memory.local_memory import LocalMemory
from commonplace.store.records import CLOCK_SKEW_MS, Arrival, Name, Peer, Record, RecordKind
from commonplace.text.project_names import same_project
from commonplace.text.redact import redact

__all__ = [
    "PRIVATE_TAG",
    "RECORD_FORMAT",
    "Name",
    "Peer",
    "Record",
    "RecordBatch",
    "RecordKind",
    "RecordOutcome",
    "SyncScope",
    "all_records",
    "changed_records",
    "differing_records",
    "first_fitting",
    "named_records",
    "parse_record_name",
    "peer_position",
    "record_data",
    "save_peer_position",
    "sessions_of_items",
    "sync_position",
    "take_records",
]

RECORD_FORMAT = 1
"""The version of the record format. Another number means that one of two stores is too old."""
PRIVATE_TAG = "private"
"""The tag of what stays where it is."""
# Records that are held at once; each may have texts of a megabyte.
_PAGE = 100


@dataclass(frozen=True, slots=True)
class SyncScope:
    """Which records are exchanged: of some projects only, and not of others; private ones only if asked for."""

    projects: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    include_private: bool = True

    @property
    def spelled(self) -> str:
        """The same for the same extent: who has seen another one has not seen all of this."""
        return json.dumps([sorted(self.projects), sorted(self.without), self.include_private], ensure_ascii=False)

    def holds(self, record: Record) -> bool:
        project = record.name if record.what == "project" else record.fields["project"]
        return self.means(project) and (self.include_private or not _is_private(record.fields))

    def seen(self, record: Record) -> Record:
        """A record without the lines of its history that were elsewhere, or private."""
        return replace(record, history=tuple(line for line in record.history if self._tells(line.before)))

    def _tells(self, before: Mapping[str, Any]) -> bool:
        return self.means(before.get("project")) and (self.include_private or not _is_private(before))

    def means(self, project: str | None) -> bool:
        if project is None:
            return not self.projects
        chosen = not self.projects or any(same_project(project, one) for one in self.projects)
        return chosen and not any(same_project(project, one) for one in self.without)


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Some records in the order of their changes, the mark to go on from, and that of the last change of all."""

    records: list[Record]
    mark: int
    last: int


@dataclass(frozen=True, slots=True)
class RecordOutcome:
    """The outcome of a record that was taken in; `why` is the reason of a failure."""

    what: str
    name: str
    result: str
    took: bool = False
    other: str | None = None
    why: str = ""


def sync_position(memory: LocalMemory) -> tuple[str, int]:
    """Which space of which store this is, and the mark of its last change."""
    return memory.store.space_uid(), memory.store.last_change()


def changed_records(memory: LocalMemory, since: int, limit: int, extent: SyncScope) -> RecordBatch:
    """What changed after a mark. There is more as long as the mark is below the last."""
    last = memory.store.last_change()
    records, mark = memory.store.records_since(since, limit)
    return RecordBatch(_outgoing(records, extent), mark, max(mark, last))


def named_records(memory: LocalMemory, names: Sequence[Name], extent: SyncScope) -> list[Record]:
    """Those of the named records that are there."""
    return _outgoing(memory.store.records_named(names), extent)


def all_records(memory: LocalMemory, what: RecordKind, extent: SyncScope) -> Iterator[Record]:
    """All records of a kind in the order of their names, a page at a time."""
    mark: str | None = ""
    while mark is not None:
        records, mark = memory.store.records_of(what, mark, _PAGE)
        yield from _outgoing(records, extent)


def sessions_of_items(memory: LocalMemory, chosen: Sequence[Record], extent: SyncScope) -> list[Record]:
    """The sessions of some items, which the other store has to know before them."""
    keys = {one.fields["session"] for one in chosen if one.what == "item" and one.fields["session"] is not None}
    included = {one.name for one in chosen if one.what == "session"}
    return named_records(memory, [("session", key) for key in sorted(keys - included)], extent)


def differing_records(memory: LocalMemory, digests: Mapping[Name, str], extent: SyncScope) -> list[Name]:
    """Those of another store's records that are not here, or say something else here."""
    here = {(one.what, one.name): one.digest for one in named_records(memory, [*digests], extent)}
    return [name for name, digest in digests.items() if here.get(name) != digest]


def record_data(record: Record) -> dict[str, Any]:
    """A record as JSON."""
    lines = [
        {"rev": one.rev, "op": one.op, "at_ms": one.at_ms, "before": one.before}
        | {name: by for name, by in (("author", one.author), ("origin", one.origin)) if by is not None}
        for one in record.history
    ]
    return {
        "what": record.what,
        "name": record.name,
        "version": record.version,
        "fields": dict(record.fields),
        "history": lines,
    }


def first_fitting(records: Iterable[Record], most_bytes: int) -> list[tuple[Record, dict[str, Any]]]:
    """The first of them that have so many bytes as JSON; one at least."""
    chosen: list[tuple[Record, dict[str, Any]]] = []
    for record in records:
        data = record_data(record)
        most_bytes -= len(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
        if chosen and most_bytes < 0:
            break
        chosen.append((record, data))
    return chosen


def take_records(
    memory: LocalMemory, data: Sequence[Mapping[str, Any]], *, future_as_now: bool = False
) -> list[RecordOutcome]:
    """Take in all records that are valid; each failure is in the result.

    One that was changed in the future fails, unless it is to be taken as if it was changed now.
    """
    now = memory.clock()
    arrivals, outcomes = {}, {}
    for number, one in enumerate(data):
        try:
            arrivals[number] = parse_record(one, now, future_as_now=future_as_now)
        except CommonplaceError as error:
            what, name = str(one.get("what"))[:40], str(one.get("name"))[:200]
            outcomes[number] = RecordOutcome(what, redact(name), "failed", why=f"{error.message} {error.hint}".strip())
    outcomes |= dict(zip(arrivals, _merge(memory, [*arrivals.values()], now), strict=True))
    memory.embeddings.wake()
    return [outcomes[number] for number in range(len(data))]


def _merge(memory: LocalMemory, arrivals: Sequence[Arrival], now_ms: int) -> list[RecordOutcome]:
    """All at once; if the store refuses one of them, each by itself."""
    if not arrivals:
        return []
    try:
        merged = memory.store.merge_records(arrivals, now_ms)
    except StoreConstraint as error:
        if len(arrivals) > 1:
            return [done for one in arrivals for done in _merge(memory, [one], now_ms)]
        (refused,) = arrivals
        return [RecordOutcome(refused.record.what, refused.record.name, "failed", why=error.message)]
    return [RecordOutcome(done.what, done.name, done.result, done.took, done.other) for done in merged]


def correct_future_versions(memory: LocalMemory, chosen: Sequence[Record]) -> list[Record]:
    """Records of this store; those that a wrong clock put into the future are changed now instead, here too."""
    now = memory.clock()
    ahead = [one for one in chosen if one.version > now + CLOCK_SKEW_MS]
    if ahead:
        take_records(memory, [record_data(one) for one in ahead], future_as_now=True)
    return [replace(one, version=now) if one in ahead else one for one in chosen]


def peer_position(memory: LocalMemory, uid: str, extent: SyncScope) -> Peer:
    """How far another space was pulled and pushed."""
    return memory.maintenance.peer(uid, extent.spelled)


def save_peer_position(memory: LocalMemory, uid: str, extent: SyncScope, peer: Peer) -> None:
    memory.maintenance.note_peer(uid, extent.spelled, peer)


def parse_record_name(what: str, name: str) -> Name:
    """The name of a record from another store."""
    kinds: dict[str, RecordKind] = {"item": "item", "session": "session", "project": "project"}
    if what not in kinds:
        raise InvalidInput(f"{what[:40]!r} is not a kind of record.", f"Choose one of {', '.join(kinds)}.")
    return kinds[what], name


def _outgoing(records: Sequence[Record], extent: SyncScope) -> list[Record]:
    return [_clean(extent.seen(record)) for record in records if extent.holds(record)]


def _clean(record: Record) -> Record:
    """A record without secrets that were stored unnoticed."""
    lines = (replace(one, before=_redacted(one.before), author=_redacted(one.author)) for one in record.history)
    return replace(record, fields=_redacted(record.fields), history=tuple(lines))


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key): entry if key in _OURS else _redacted(entry) for key, entry in value.items()}
    return [_redacted(entry) for entry in value] if isinstance(value, (list, tuple)) else value


# Numbers and digests that nobody said.
_OURS = ("uid", "content_hash", "superseded_by")


def _is_private(fields: Mapping[str, Any]) -> bool:
    return any(str(tag).casefold() == PRIVATE_TAG for tag in fields.get("tags") or ())
