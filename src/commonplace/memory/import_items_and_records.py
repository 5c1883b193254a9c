"""Import items of other products, each known by its own identity, so that none is stored twice; and records.

What was forgotten or changed here since it came in stays as it is here. Records from another store are validated and
cleaned like anything that is remembered.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.errors import Conflict, InvalidInput, NotFound, TooLarge
from commonplace.memory.authors import for_import, sign
from commonplace.memory.conversations import MAX_KEY, MAX_LABEL, STATUSES, checked_folder, checked_score
from commonplace.memory.draft import (
    MAX_AUTHOR,
    MAX_META_DEPTH,
    NewItem,
    checked_meta,
    checked_time,
    checked_uid,
    clean_text,
    make_draft,
)
from commonplace.memory.edit_and_forget import mark_superseded, rewrite_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import check_reserved
from commonplace.model import SOURCE_FIELDS, VALIDITY_FIELDS, Change, Draft, Item, ref
from commonplace.store.records import CLOCK_SKEW_MS, Arrival, Record, RecordKind, separate_hash
from commonplace.text.project_names import normalise_project

SOURCE_HASH = "source_said"
"""The metadata key for a hash of what the source had at the last import, to know what changed there or here."""


@dataclass(frozen=True, slots=True)
class ImportedItem:
    """A thing to take in; its note has a uid. One that was `forgotten` where it comes from is forgotten here too."""

    note: NewItem
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Replacement:
    """One thing, by its uid, that another one took the place of."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class TakenItem:
    """What became of an arrival: the id of its item, and whether that is new, or changed as its source did."""

    id: int
    is_new: bool
    changed: bool


def import_items(memory: LocalMemory, arrivals: Sequence[ImportedItem]) -> list[TakenItem]:
    """Store what is new and follow what changed at its source."""
    for arrival in arrivals:
        check_reserved(memory, arrival.note.tags, arrival.note.meta)
    memory, now = for_import(memory), memory.clock()
    drafts = [sign(memory, _marked(make_draft(arrival.note, now))) for arrival in arrivals]
    known = _known(memory, drafts)
    fresh = [draft for draft in drafts if draft.uid not in known]
    stored = {draft.uid: one for draft, one in zip(fresh, memory.store.put(fresh, now), strict=True)}
    memory.embeddings.wake()
    took: list[TakenItem] = []
    gone: list[int] = []
    for arrival, draft in zip(arrivals, drafts, strict=True):
        item = known.get(draft.uid)
        if item is not None:
            took.append(TakenItem(item.id, False, _follow(memory, item, arrival.note, draft)))
            if arrival.forgotten and _untouched(memory, item):
                gone.append(item.id)
        else:
            one = stored[draft.uid]
            took.append(TakenItem(one.id, not one.duplicate, False))
            # Where the same is remembered for another reason, that reason holds.
            if arrival.forgotten and not one.duplicate:
                gone.append(one.id)
    if gone:
        memory.store.forget(gone, now, memory.writer)
    return took


def import_replacement(memory: LocalMemory, replaced: Replacement) -> str:
    """Mark one as replaced by the other, once; why not, where it cannot be."""
    try:
        old = get_item(memory, replaced.old, forgotten=True)
        if _untouched(memory, old):
            mark_superseded(for_import(memory), old.id, replaced.new)
    except (NotFound, Conflict) as error:
        return error.message
    return ""


def _known(memory: LocalMemory, drafts: Sequence[Draft]) -> dict[str | None, Item]:
    uids = [draft.uid for draft in drafts if draft.uid is not None]
    numbers = memory.store.resolve([ref(uid) for uid in uids])
    items = memory.store.get([number for number in numbers if number is not None])
    return {uid: items[number] for uid, number in zip(uids, numbers, strict=True) if number in items}


def _marked(draft: Draft) -> Draft:
    return replace(draft, meta={**draft.meta, SOURCE_HASH: _source_hash(draft)})


def _source_hash(written: Draft | Item) -> str:
    return written.content_hash.hex()[:16]


def _follow(memory: LocalMemory, item: Item, note: NewItem, draft: Draft) -> bool:
    """Update an item from its source, unless somebody changed it here.

    What the source does not mention stays: an export tells less than a database.
    """
    before = item.meta.get(SOURCE_HASH)
    if before == _source_hash(draft) or before != _source_hash(item) or not _live(item):
        return False
    more = replace(
        note,
        details={**item.details, **draft.details},
        tags=tuple(dict.fromkeys((*item.tags, *draft.tags))),
        project=item.project,
        session=draft.session or item.session,
    )
    updated = _marked(make_draft(more, memory.clock()))
    if _source_hash(updated) == before:
        return False
    rewrite_item(memory, item, replace(more, meta={**item.meta, **updated.meta}))
    return True


def _live(item: Item) -> bool:
    return item.forgotten_ms is None and item.superseded_by is None


def _untouched(memory: LocalMemory, item: Item) -> bool:
    """Whether it is live and nobody ever brought it back."""
    return _live(item) and all(change.op != "restore" for change in memory.store.history(item.id))


def source_mark(memory: LocalMemory, path: str) -> Mapping[str, Any] | None:
    """What was noted of a file when it was last read; None if it never was."""
    return memory.maintenance.source_mark(path)


def save_source_mark(memory: LocalMemory, path: str, mark: Mapping[str, Any]) -> None:
    memory.maintenance.save_source_mark(path, mark, memory.clock())


def session_turns(memory: LocalMemory, key: str) -> list[tuple[str, str | None]]:
    """The turns of the session of this key, each with the one it follows."""
    return memory.maintenance.source_turns(key)


def mark_abandoned_turns(memory: LocalMemory, key: str, turns: Collection[str]) -> None:
    """Mark the turns that were abandoned when someone went back in a conversation."""
    memory.maintenance.mark_abandoned(key, turns)


def link_sub_agents(memory: LocalMemory, key: str) -> int:
    """Let the sub-agents of a session know which of its messages started them."""
    return memory.maintenance.link_sub_agents(key)


MAX_HISTORY = 10_000
MAX_ALIASES = 1_000
_MAX_REV = 2**31 - 1
# More than any text of ours has; sums of it are kept.
_MOST_TOKENS = 10_000_000
_LINE = {
    "item": {"type": str, "title": str, "body": str, "details": dict, "meta": dict, "tags": list},
    "session": {"label": str, "folder": str, "status": str, "meta": dict},
}


def parse_record(data: Mapping[str, Any], now_ms: int, *, future_as_now: bool = False) -> Arrival:
    """A record to take in; InvalidInput or TooLarge if it is none, or if its version lies in the future."""
    if not isinstance(data, Mapping) or not isinstance(data.get("fields"), Mapping):
        raise InvalidInput("A record has what, name, version, fields and history.", "Send it as it was told.")
    made = {"item": _item, "session": _session, "project": _project}.get(str(data.get("what")))
    if made is None:
        raise InvalidInput(f"{str(data.get('what'))[:40]!r} is not a kind of record.", "Upgrade Commonplace here.")
    version = _version(data, now_ms, future_as_now=future_as_now)
    return made(_text(data, "name"), version, data["fields"], data, now_ms)


def _version(data: Mapping[str, Any], now_ms: int, *, future_as_now: bool) -> int:
    """A version from the future would stand above every change that is made until then."""
    version = max(0, _number(data, "version"))
    if version <= now_ms + CLOCK_SKEW_MS:
        return version
    if future_as_now:
        return now_ms
    raise InvalidInput(
        "The record is dated more than a day in the future, by this machine's clock.",
        "Correct the clock of the machine that is wrong, and sync again from there.",
    )


def _item(name: str, version: int, fields: Mapping[str, Any], data: Mapping[str, Any], now_ms: int) -> Arrival:
    note = NewItem(
        content=_text(fields, "body"),
        kind=fields.get("kind", ""),
        type=_text(fields, "type"),
        title=_text(fields, "title"),
        details=_texts(fields, "details"),
        meta=_object(fields, "meta"),
        project=_text_or_none(fields, "project"),
        session=_text_or_none(fields, "session"),
        tags=_list(fields, "tags"),
        importance=_score_or_none(fields, "importance"),
        created_ms=_number(fields, "created_ms"),
        uid=name,
        reads_validity=False,
    )
    draft = replace(_draft(note, fields, now_ms), tokens=min(max(0, _number(fields, "tokens")), _MOST_TOKENS))
    was = {key: fields.get(key) for key in ("type", "title", "body", "details", "meta")}
    checked = {
        **{key: getattr(draft, key) for key in ("kind", "type", "title", "body", "details", "meta", "project")},
        **{key: getattr(draft, key) for key in ("session", "importance", "tokens", "created_ms")},
        "tags": sorted(draft.tags),
        "status": _status(fields),
        "updated_ms": checked_time(_number(fields, "updated_ms")),
        "rev": _rev(fields),
        "forgotten_ms": _time_or_none(fields, "forgotten_ms"),
        "superseded_by": checked_uid(_text_or_none(fields, "superseded_by")),
        # A store of an earlier version does not know them.
        **{name: _time_or_none(fields, name) for name in VALIDITY_FIELDS if name in fields},
        **_source(fields),
    }
    # What was cleaned here is later than what it was made of.
    cleaned = any(was[key] != checked[key] for key in was)
    assert draft.uid is not None
    return Arrival(Record("item", draft.uid, version + cleaned, checked, _history("item", data)), draft)


def _draft(note: NewItem, fields: Mapping[str, Any], now_ms: int) -> Draft:
    """A statement is known by what it says; an event may be known by what its source calls it."""
    try:
        identity = bytes.fromhex(_text(fields, "content_hash"))
    except ValueError:
        identity = b""
    if len(identity) != 32:
        raise InvalidInput("content_hash is not a digest.", "Send the record as it was told.")
    if note.kind != "memory":
        return make_draft(note, now_ms, identity=identity)
    draft = make_draft(note, now_ms)
    separate = separate_hash(draft.content_hash, str(draft.uid))
    return replace(draft, content_hash=separate) if identity == separate else draft


def _session(name: str, version: int, fields: Mapping[str, Any], data: Mapping[str, Any], _now_ms: int) -> Arrival:
    key, label = clean_text(name, "name").strip(), " ".join(clean_text(_text(fields, "label"), "label").split())
    if not 0 < len(key) <= MAX_KEY or len(label) > MAX_LABEL:
        raise TooLarge("The name or the label of a session is too long, or it has no name.", "Give it a shorter one.")
    project = _text_or_none(fields, "project")
    checked = {
        "uid": checked_uid(_text(fields, "uid")),
        "source": clean_text(_text(fields, "source"), "source")[:100],
        "project": None if project is None else normalise_project(project),
        "label": label,
        "folder": checked_folder(_text(fields, "folder")),
        "status": _status(fields),
        "importance": checked_score(_score_or_none(fields, "importance") or 0.0),
        "meta": checked_meta(_object(fields, "meta")),
        "started_ms": checked_time(_number(fields, "started_ms")),
        "updated_ms": checked_time(_number(fields, "updated_ms")),
        "accessed_ms": _time_or_none(fields, "accessed_ms"),
        "rev": _rev(fields),
        "forgotten_ms": _time_or_none(fields, "forgotten_ms"),
    }
    return Arrival(Record("session", key, version, checked, _history("session", data)))


def _project(name: str, version: int, fields: Mapping[str, Any], _data: Mapping[str, Any], _now_ms: int) -> Arrival:
    aliases = _list(fields, "aliases")
    if len(aliases) > MAX_ALIASES:
        raise TooLarge(f"{len(aliases)} names of a project are more than {MAX_ALIASES}.")
    names = sorted({normalise_project(alias).casefold() for alias in aliases})
    checked = {"aliases": names, "created_ms": checked_time(_number(fields, "created_ms"))}
    return Arrival(Record("project", normalise_project(name), version, checked))


def _history(what: RecordKind, data: Mapping[str, Any]) -> tuple[Change, ...]:
    lines = _list(data, "history", of=Mapping)
    if len(lines) > MAX_HISTORY:
        raise TooLarge(f"A history of {len(lines)} lines is longer than {MAX_HISTORY}.", "Nothing else can be done.")
    return tuple(_line(what, line) for line in lines)


def _line(what: RecordKind, line: Mapping[str, Any]) -> Change:
    before = _cleaned(_object(line, "before"), MAX_META_DEPTH)
    for name, kind in _LINE[what].items():
        if not isinstance(before.get(name), kind):
            raise InvalidInput(f"A line of the history tells no {name}.", "Send the record as it was told.")
    if what == "item":
        _list(before, "tags")
        _texts(before, "details")
        _text_or_none(before, "superseded_by")
    checked = {"project": _text_or_none(before, "project"), "importance": _score_or_none(before, "importance")}
    for name in ("forgotten_ms", *VALIDITY_FIELDS):
        _time_or_none(before, name)
    op = clean_text(_text(line, "op"), "op")[:40]
    by = _source(line) if what == "item" else {}
    at_ms = checked_time(_number(line, "at_ms"))
    return Change(_rev(line), op, at_ms, {**before, **checked}, by.get("author"), by.get("origin"))


def _source(fields: Mapping[str, Any]) -> dict[str, str | None]:
    """Who said something, in which way, and its review, as far as given; a value of a later version is kept."""
    texts = {name: _text_or_none(fields, name) for name in SOURCE_FIELDS if name in fields}
    return {name: value and (clean_text(value, name).strip()[:MAX_AUTHOR] or None) for name, value in texts.items()}


def _cleaned(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return clean_text(value, "history")
    if not isinstance(value, (Mapping, list)):
        return value
    if not levels:
        raise InvalidInput(f"The history is nested deeper than {MAX_META_DEPTH} levels.", "Make it flatter.")
    if isinstance(value, Mapping):
        return {clean_text(str(key), "history"): _cleaned(entry, levels - 1) for key, entry in value.items()}
    return [_cleaned(entry, levels - 1) for entry in value]


def _status(fields: Mapping[str, Any]) -> str:
    status = _text(fields, "status")
    if status not in STATUSES:
        raise InvalidInput(f"status is {status[:60]!r}.", f"Choose one of {', '.join(STATUSES)}.")
    return status


def _rev(fields: Mapping[str, Any]) -> int:
    return min(max(1, _number(fields, "rev")), _MAX_REV)


def _wrong(name: str) -> InvalidInput:
    return InvalidInput(f"{name} is missing in a record, or of another type.", "Send it as it was told.")


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _wrong(name)
    return value


def _text_or_none(fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else _text(fields, name)


def _number(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(name)
    return value


def _time_or_none(fields: Mapping[str, Any], name: str) -> int | None:
    return None if fields.get(name) is None else checked_time(_number(fields, name))


def _score_or_none(fields: Mapping[str, Any], name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise _wrong(name)
    return float(value)


def _object(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fields.get(name)
    if not isinstance(value, Mapping):
        raise _wrong(name)
    return value


def _texts(fields: Mapping[str, Any], name: str) -> Mapping[str, str]:
    value = _object(fields, name)
    if not all(isinstance(entry, str) for entry in value.values()):
        raise _wrong(name)
    return value


def _list(fields: Mapping[str, Any], name: str, of: type[Any] = str) -> Sequence[Any]:
    value = fields.get(name)
    if not isinstance(value, (list, tuple)) or not all(isinstance(entry, of) for entry in value):
        raise _wrong(name)
    return value
