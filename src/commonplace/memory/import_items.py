"""Import items of other products, each known by its own identity, so that none is stored twice.

What was forgotten or changed here since it came in stays as it is here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.errors import Conflict, NotFound
from commonplace.item_ids import ref
from commonplace.memory.authors import for_import, sign
from commonplace.memory.edit_and_forget import mark_superseded
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, make_draft, rewrite_item
from commonplace.model import Draft, Item

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


def import_items(memory: LocalMemory, arrivals: Sequence[ImportedItem]) -> list[bool]:
    """Store what is new and follow what changed at its source; for each whether it was one of these."""
    memory, now = for_import(memory), memory.clock()
    drafts = [sign(memory, _marked(make_draft(arrival.note, now))) for arrival in arrivals]
    known = _known(memory, drafts)
    fresh = [draft for draft in drafts if draft.uid not in known]
    stored = {draft.uid: one for draft, one in zip(fresh, memory.store.put(fresh, now), strict=True)}
    memory.embeddings.wake()
    took, gone = [], []
    for arrival, draft in zip(arrivals, drafts, strict=True):
        item = known.get(draft.uid)
        if item is not None:
            took.append(_follow(memory, item, arrival.note, draft))
            if arrival.forgotten and _untouched(memory, item):
                gone.append(item.id)
        else:
            took.append(not stored[draft.uid].duplicate)
            # Where the same is remembered for another reason, that reason holds.
            if arrival.forgotten and took[-1]:
                gone.append(stored[draft.uid].id)
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
