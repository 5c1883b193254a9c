"""Merging records of another store into a space: each is new, known, a later version, or conflicts with the one here.

Every store decides the same: which of two versions wins, and what the history keeps of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace.model import SOURCE_FIELDS, VALIDITY_FIELDS, Change, Draft
from commonplace.store.records import (
    CLOCK_SKEW_MS,
    RECORD_KINDS,
    Arrival,
    Name,
    Outcome,
    Record,
    before_of,
    line_id,
    separate_hash,
    state_hash,
    state_of,
    version_of,
)

if TYPE_CHECKING:
    from commonplace.store.sql.records import RowWriter

MERGE = "merge"
"""The operation of a line in a history that holds the version which did not win."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Whether the arriving version wins, the lines that the history lacks, and whether both had changed."""

    takes: bool
    lines: tuple[Change, ...]
    conflict: bool
    version: int


def resolve_conflict(here: Record, arriving: Record) -> Resolution:
    """The later version wins; of two from the same moment, the same one in every store.

    The other is added to the history, unless everything that was done to it was done to the winner too: then the winner
    was made from it. What follows a source, and what was cleaned, leaves no trace of that in its history.
    """
    lines = missing_lines(here, arriving.history)
    version = max(here.version, arriving.version)
    if state_of(here) == state_of(arriving):
        return Resolution(takes=False, lines=lines, conflict=False, version=version)
    takes = (arriving.version, state_hash(arriving)) > (here.version, state_hash(here))
    winner, other = (arriving, here) if takes else (here, arriving)
    versions = (winner.fields, *(line.before for line in winner.history))
    known = [version_of(winner.what, fields) for fields in versions]
    conflict = bool(missing_lines(winner, other.history)) and version_of(other.what, other.fields) not in known
    if conflict:
        by = (winner.fields.get("author"), winner.fields.get("origin"))
        line = Change(other.fields["rev"], MERGE, other.version, before_of(other), *by)
        lines = (*lines, *missing_lines(here, [line], besides=lines))
    return Resolution(takes, lines, conflict, version)


def replaces_unseen(here: Record, arriving: Record) -> bool:
    """Whether a record would take the place of the one here although its history does not tell that version."""
    versions = (arriving.fields, *(line.before for line in arriving.history))
    unseen = version_of(here.what, here.fields) not in [version_of(here.what, fields) for fields in versions]
    return unseen and resolve_conflict(here, arriving).takes and not missing_lines(arriving, here.history)


def keep_numbers(lines: Sequence[Change], here: int, rev: int) -> bool:
    """Whether lines keep their numbers: they are all that is here, and count up to the revision."""
    revs = [line.rev for line in lines]
    return here == len(lines) and revs == sorted(set(revs)) and (not revs or revs[-1] < rev)


def missing_lines(here: Record, lines: Sequence[Change], besides: Sequence[Change] = ()) -> tuple[Change, ...]:
    """Those lines that a record's history does not have, each once."""
    known = {line_id(line) for line in (*here.history, *besides)}
    new = {line_id(line): line for line in lines}
    return tuple(line for id_, line in new.items() if id_ not in known)


# Items that are written at once.
_MAX_BATCH = 500


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record of this store, and the id of its row."""

    id: int
    record: Record


@dataclass(frozen=True, slots=True)
class ItemToWrite:
    """An item as it is to be. `by` is the id of the item that replaced it; `awaits` its uid while that is not here."""

    record: Record
    draft: Draft
    by: int | None = None
    awaits: str | None = None

    @property
    def live(self) -> bool:
        return self.by is None and self.record.fields["forgotten_ms"] is None


def merge_arrivals(writer: RowWriter, arrivals: Sequence[Arrival], now_ms: int) -> list[Outcome]:
    """Take records in, in an order in which none lacks another."""
    return _Merge(writer, now_ms).all(arrivals)


class _Merge:
    def __init__(self, writer: RowWriter, now_ms: int) -> None:
        self._writer, self._now = writer, now_ms
        self._names: dict[str, str] = {}
        # Read or to be written in one go; what was written since has to be read again.
        self._known: dict[Name, FoundRecord] = {}
        self._written: set[str] = set()
        self._fresh: dict[str, ItemToWrite] = {}
        self._taken: set[tuple[str | None, bytes]] = set()
        # Projects that are separate in another store, however alike their names are.
        self._apart: set[str] = set()

    def all(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        self._apart = {one.record.name.casefold() for one in arrivals if one.record.what == "project"}
        take_in = {"project": self._project, "session": self._session, "item": self._item}
        for what in RECORD_KINDS:
            ours = {number: one for number, one in enumerate(arrivals) if one.record.what == what}
            self._known = self._writer.find([(what, one.record.name) for one in ours.values()])
            outcomes |= {number: take_in[what](one) for number, one in ours.items()}
        self._flush()
        return [outcomes[number] for number in range(len(arrivals))]

    def _project(self, arrival: Arrival) -> Outcome:
        record = arrival.record
        name = self._writer.project(record.name, record.fields["created_ms"], self._apart)
        added = self._writer.add_aliases(name, record.fields["aliases"])
        if ("project", record.name) not in self._known:
            return Outcome("project", record.name, "added", took=True)
        return Outcome("project", record.name, "updated" if added else "unchanged", took=bool(added))

    def _session(self, arrival: Arrival) -> Outcome:
        record = self._placed(arrival.record)
        found = self._found(("session", record.name)) or self._writer.find_session(record.fields["uid"])
        found = found and self._dated(found)
        self._written |= {record.name, record.name if found is None else found.record.name}
        if found is None:
            number = self._writer.add_session(record)
            self._writer.add_lines("session", number, record.history, record.fields["rev"])
            self._writer.set_version("session", number, record.version)
            return Outcome("session", record.name, "added", took=True)
        resolution = resolve_conflict(found.record, record)
        if resolution.takes:
            record = _with(record, rev=_next_rev(found.record, record))
            self._writer.change_session(found.id, record)
        return self._apply(found, record, resolution)

    def _item(self, arrival: Arrival) -> Outcome:
        assert arrival.draft is not None
        record = self._placed(arrival.record)
        draft = replace(arrival.draft, project=record.fields["project"])
        if record.name in self._fresh:
            self._flush()
        found = self._found(("item", record.name))
        self._written.add(record.name)
        if found is None:
            return self._new(ItemToWrite(record, draft))
        record = _completed(record, found.record)
        resolution = resolve_conflict(found.record, record)
        if not resolution.takes:
            return self._apply(found, record, resolution)
        record = _with(record, rev=_next_rev(found.record, record))
        item, other = self._alone(ItemToWrite(record, draft))
        self._writer.change_item(found.id, self._linked(item, found.id))
        lines = (*resolution.lines, *missing_lines(found.record, item.record.history, resolution.lines))
        version = max(resolution.version, item.record.version)
        outcome = self._apply(found, item.record, replace(resolution, lines=lines, version=version))
        self._link_awaiting([record.name])
        return outcome if other is None else replace(outcome, result="same_as", other=other)

    def _found(self, name: Name) -> FoundRecord | None:
        found = self._writer.find([name]).get(name) if name[1] in self._written else self._known.get(name)
        return found and self._dated(found)

    def _dated(self, found: FoundRecord) -> FoundRecord:
        """What a wrong clock put into the future gives way to whatever arrives.

        Twice the skew: changes here are later than what was taken in with all of it.
        """
        ahead = found.record.version > self._now + 2 * CLOCK_SKEW_MS
        return replace(found, record=replace(found.record, version=0)) if ahead else found

    def _new(self, item: ItemToWrite) -> Outcome:
        item, other = self._alone(item)
        self._fresh[item.record.name] = self._linked(item)
        self._taken.add((item.draft.project, item.draft.content_hash))
        if len(self._fresh) >= _MAX_BATCH:
            self._flush()
        result: Any = "added" if other is None else "same_as"
        return Outcome("item", item.record.name, result, took=True, other=other)

    def _flush(self) -> None:
        """Write what is new."""
        items = [*self._fresh.values()]
        self._fresh, self._taken = {}, set()
        if not items:
            return
        for number, item in zip(self._writer.add_items(items), items, strict=True):
            if item.record.history:
                self._writer.add_lines("item", number, item.record.history, item.record.fields["rev"])
                self._writer.set_version("item", number, item.record.version)
        self._link_awaiting([item.record.name for item in items])

    def _apply(self, found: FoundRecord, record: Record, resolution: Resolution) -> Outcome:
        changed = resolution.takes or bool(resolution.lines)
        if resolution.lines:
            rev = (record if resolution.takes else found.record).fields["rev"]
            self._writer.add_lines(record.what, found.id, resolution.lines, rev)
        if changed or resolution.version != found.record.version:
            self._writer.set_version(record.what, found.id, resolution.version)
        result: Any = "conflict" if resolution.conflict else "updated" if changed else "unchanged"
        return Outcome(record.what, record.name, result, took=resolution.takes)

    def _placed(self, record: Record) -> Record:
        """A record as it is called here, with no time that has not come yet."""
        project = record.fields["project"]
        if project is not None and project not in self._names:
            # A longer name may become that of a project which was named before.
            self._names = {name: self._writer.project(name, self._now) for name in (*self._names, project)}
        here = None if project is None else self._names[project]
        return _with(record, project=here, updated_ms=min(record.fields["updated_ms"], self._now))

    def _alone(self, item: ItemToWrite) -> tuple[ItemToWrite, str | None]:
        """Of two items that say the same in one place one is seen: the older. Tells the uid of the other one."""
        if (item.draft.project, item.draft.content_hash) in self._taken:
            self._flush()
        twin = self._writer.twin(item.draft)
        if twin is None:
            return item, None
        name, aside = item.record.name, separate_hash(item.draft.content_hash, item.record.name)
        if not _is_live(item.record):
            return replace(item, draft=replace(item.draft, content_hash=aside)), None
        gives_way = _is_live(twin.record) and name < twin.record.name
        if _is_live(twin.record) and not gives_way:
            replaced = _replaced(item.record, twin.record)
            return replace(item, record=replaced, draft=replace(item.draft, content_hash=aside)), twin.record.name
        there = separate_hash(item.draft.content_hash, twin.record.name)
        self._writer.step_aside(twin.id, there, name if gives_way else None)
        if gives_way:
            replaced = _replaced(twin.record, item.record)
            self._writer.add_lines(
                "item", twin.id, missing_lines(twin.record, replaced.history), replaced.fields["rev"]
            )
            self._writer.set_version("item", twin.id, replaced.version)
        self._written.add(twin.record.name)
        return item, twin.record.name if gives_way else None

    def _linked(self, item: ItemToWrite, own: int | None = None) -> ItemToWrite:
        """The item with the number of what took its place, if that is here and did not give way to it."""
        uid = item.record.fields["superseded_by"]
        if uid in self._fresh:
            self._flush()
        by = None if uid is None else self._writer.number(uid)
        if by is None or (own is not None and self._writer.leads_to(by, own)):
            return replace(item, awaits=uid)
        return replace(item, by=by)

    def _link_awaiting(self, uids: Sequence[str]) -> None:
        """Let those that came take the place of what waited for them."""
        for number, uid in self._writer.awaiting(uids):
            by = self._writer.number(uid)
            if by is not None and not self._writer.leads_to(by, number):
                self._writer.replace_item(number, by)


def _completed(record: Record, here: Record) -> Record:
    """An item of a store of an earlier version, with the fields of the one here that it does not know.

    Who said something is not who changed it there.
    """
    lost = SOURCE_FIELDS if here.fields["body"] != record.fields["body"] else ()
    names = (name for name in (*VALIDITY_FIELDS, *SOURCE_FIELDS) if name not in record.fields)
    return _with(record, **{name: None if name in lost else here.fields.get(name) for name in names})


def _replaced(record: Record, by: Record) -> Record:
    """A record that gives way to another one, in the same way in every store."""
    author, origin = (by.fields.get(name) for name in ("author", "origin"))
    line = Change(record.fields["rev"], "supersede", record.version, before_of(record), author, origin)
    rev = record.fields["rev"] + 1
    return replace(
        _with(record, superseded_by=by.name, rev=rev), version=record.version + 1, history=(*record.history, line)
    )


def _with(record: Record, **fields: object) -> Record:
    return replace(record, fields={**record.fields, **fields})


def _next_rev(here: Record, arriving: Record) -> int:
    return int(max(here.fields["rev"], arriving.fields["rev"])) + 1


def _is_live(record: Record) -> bool:
    return record.fields["forgotten_ms"] is None and record.fields["superseded_by"] is None
