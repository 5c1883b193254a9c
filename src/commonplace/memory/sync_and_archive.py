"""A memory as records: compared and merged with those of another one, or written as an archive.

What goes out and what comes in is cleaned of secrets like any other text; `SyncScope` says what may go out at all. The
archive is everything of a space as an open format, JSON lines and a manifest, that others can read without us:
docs/reference/archive.md has it field by field; capture/importers/commonplace_export.py reads it back.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace import __version__
from commonplace.errors import CommonplaceError, InvalidInput, StoreConstraint, TooLarge
from commonplace.memory.authors import sign_record
from commonplace.memory.import_items_and_records import parse_record
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import (
    check_forgettable,
    check_reserved,
    is_person,
    must_propose_record,
    require_person,
)
from commonplace.memory.private_projects import is_private
from commonplace.model import KINDS, PRIVATE_TAG, ref
from commonplace.store.records import CLOCK_SKEW_MS, Arrival
from commonplace.store.records import Name as Name
from commonplace.store.records import Peer as Peer
from commonplace.store.records import Record as Record
from commonplace.store.records import RecordKind as RecordKind
from commonplace.text.dates import iso_time
from commonplace.text.project_names import same_project
from commonplace.text.redact import redact

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

RECORD_FORMAT = 1
"""The version of the record format. Another number means that one of two stores is too old."""
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
        return self.means(project) and (self.include_private or not _is_tagged_private(record.fields))

    def seen(self, record: Record) -> Record:
        """A record without the lines of its history that were elsewhere, or private."""
        return replace(record, history=tuple(line for line in record.history if self._tells(line.before)))

    def _tells(self, before: Mapping[str, Any]) -> bool:
        return self.means(before.get("project")) and (self.include_private or not _is_tagged_private(before))

    def means(self, project: str | None) -> bool:
        chosen = project is not None and any(same_project(project, one) for one in self.projects)
        return (chosen or not self.projects) and not is_private(self.without, project)


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
    memory: LocalMemory, data: Sequence[Mapping[str, Any]], *, future_as_now: bool = False, trusted: bool = False
) -> list[RecordOutcome]:
    """Take in all records that are valid; each failure is in the result.

    One that was changed in the future fails, unless it is to be taken as if it was changed now. `trusted` records are
    this store's own.
    """
    now = memory.clock()
    arrivals: dict[int, Arrival] = {}
    outcomes: dict[int, RecordOutcome] = {}
    for number, one in enumerate(data):
        try:
            arrivals[number] = parse_record(one, now, future_as_now=future_as_now)
        except CommonplaceError as error:
            outcomes[number] = _failed(one, error)
    if not (trusted or (is_person(memory) and memory.writer.may_quote)):
        here = _known_records(memory, [*arrivals.values()])
        for number, arrival in [*arrivals.items()]:
            try:
                arrivals[number] = _from_outside(memory, arrival, here)
            except CommonplaceError as error:
                del arrivals[number]
                outcomes[number] = _failed(data[number], error)
    outcomes |= dict(zip(arrivals, _merge(memory, [*arrivals.values()], now), strict=True))
    memory.embeddings.wake()
    return [outcomes[number] for number in range(len(data))]


def _failed(data: Mapping[str, Any], error: CommonplaceError) -> RecordOutcome:
    what, name = str(data.get("what"))[:40], str(data.get("name"))[:200]
    return RecordOutcome(what, redact(name), "failed", why=f"{error.message} {error.hint}".strip())


def _known_records(memory: LocalMemory, arrivals: Sequence[Arrival]) -> dict[str, Record]:
    """The items of these records as they are here, by their uids: a record may spell its own in another way."""
    names: list[Name] = [("item", one.record.name) for one in arrivals if one.record.what == "item"]
    return {record.name: record for record in memory.store.records_named(names)}


def _from_outside(memory: LocalMemory, arrival: Arrival, here: Mapping[str, Record]) -> Arrival:
    """A record as its caller may bring it; Forbidden if it changes what only people may, or is private."""
    record = arrival.record
    if record.what == "item":
        (known,) = memory.store.resolve([ref(record.name)])
        old = None if known is None else memory.store.get([known])[known]
        check_reserved(memory, record.fields["tags"], record.fields["meta"], old)
        if old is not None and must_propose_record(memory, old, record.fields):
            require_person(
                memory, "replace what people decided by a record", "Propose it instead: PATCH or DELETE /api/v1/items."
            )
    if record.what == "session" and record.fields["forgotten_ms"] is not None:
        session = memory.store.resolve_session(ref(record.fields["uid"]), record.name)
        if session is not None:
            check_forgettable(memory, session)
    return sign_record(memory, arrival, here.get(record.name))


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
        take_records(memory, [record_data(one) for one in ahead], future_as_now=True, trusted=True)
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


def _is_tagged_private(fields: Mapping[str, Any]) -> bool:
    return any(str(tag).casefold() == PRIVATE_TAG for tag in fields.get("tags") or ())


ARCHIVE_FORMAT, ARCHIVE_VERSION = "commonplace-archive", 1
MANIFEST = "manifest.json"
ARCHIVE_FILES: Mapping[RecordKind, str] = {
    "project": "projects.jsonl",
    "session": "sessions.jsonl",
    "item": "items.jsonl",
}
"""In the order in which one needs the other. They are written the other way round: whatever comes meanwhile, no item
is without its session."""
MAX_ARCHIVE_LINE = 1 << 28
"""Bytes of the longest record: an item with all that it ever was."""

# A piece of the zip is handed over when it has grown to this.
_PIECE = 1 << 16
_OWNER_ONLY = 0o600 << 16


class Archive:
    """An archive that is being written: its files, and then the manifest that counts what was in them.

    `since_ms` leaves out items that have not changed since; what they need is there all the same.
    """

    def __init__(self, memory: LocalMemory, extent: SyncScope | None = None, since_ms: int | None = None) -> None:
        self._memory, self._extent, self._since = memory, extent or SyncScope(), since_ms
        self._created = memory.clock()
        self._files: list[dict[str, Any]] = []
        names = ("projects", "sessions", "items", "forgotten", "superseded", "history")
        self.counts: Counter[str] = Counter(dict.fromkeys(names, 0))
        self._kinds: Counter[str] = Counter(dict.fromkeys(KINDS, 0))

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Each file by its name, as the pieces of what is in it; all of them have to be taken before the next one."""
        for what in reversed([*ARCHIVE_FILES]):
            yield ARCHIVE_FILES[what], self._measured(what)
        yield MANIFEST, iter([json.dumps(self.manifest, ensure_ascii=False, indent=2).encode() + b"\n"])

    def zipped(self) -> Iterator[bytes]:
        """All of it as one zip, piece by piece as it is made."""
        import zipfile

        tray = _Tray()
        with zipfile.ZipFile(tray, "w") as archive:
            for name, pieces in self.files():
                entry = zipfile.ZipInfo(name)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _OWNER_ONLY
                with archive.open(entry, "w", force_zip64=True) as file:
                    for piece in pieces:
                        file.write(piece)
                        if tray.size >= _PIECE:
                            yield tray.taken()
        yield tray.taken()

    @property
    def manifest(self) -> dict[str, Any]:
        """What was written so far."""
        return {
            "format": ARCHIVE_FORMAT,
            "version": ARCHIVE_VERSION,
            "created": iso_time(self._created),
            "by": f"commonplace {__version__}",
            "space": self._memory.settings.space,
            "store": sync_position(self._memory)[0],
            "projects": [*self._extent.projects] or None,
            "since": None if self._since is None else iso_time(self._since),
            "counts": {**self.counts, "kinds": dict(self._kinds)},
            "files": self._files,
        }

    def _measured(self, what: RecordKind) -> Iterator[bytes]:
        digest, lines, size = hashlib.sha256(), 0, 0
        for record in self._records(what):
            line = _line(record)
            self._count(record)
            digest.update(line)
            lines, size = lines + 1, size + len(line)
            yield line
        self._files.append({"name": ARCHIVE_FILES[what], "lines": lines, "bytes": size, "sha256": digest.hexdigest()})

    def _records(self, what: RecordKind) -> Iterator[Record]:
        records = all_records(self._memory, what, self._extent)
        if what == "item" and self._since is not None:
            since = self._since
            return (record for record in records if record.version >= since)
        return records

    def _count(self, record: Record) -> None:
        self.counts[f"{record.what}s"] += 1
        self.counts["history"] += len(record.history)
        if record.what == "item":
            self._kinds[record.fields["kind"]] += 1
            self.counts["forgotten"] += record.fields["forgotten_ms"] is not None
            self.counts["superseded"] += record.fields["superseded_by"] is not None


class _Tray(io.RawIOBase):
    """Where the zip is written to, and taken from."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def write(self, data: Buffer, /) -> int:
        self._parts.append(bytes(data))
        self.size += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        parts, self._parts, self.size = self._parts, [], 0
        return b"".join(parts)


def _line(record: Record) -> bytes:
    """A record as a line that is the same in every store."""
    parts = (f"{json.dumps(name)}:{_canonical(value)}" for name, value in record_data(record).items())
    line = f"{{{','.join(parts)}}}\n".encode("utf-8", "replace")
    if len(line) > MAX_ARCHIVE_LINE:
        raise TooLarge(
            f"{record.what.capitalize()} {record.name} has {len(line) >> 20} MB with its history.",
            "`commonplace backup` keeps it; --project leaves it out.",
        )
    return line


def _canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
