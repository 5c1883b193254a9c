"""Review: what agents and capture proposed, for a person to accept or dismiss.

A proposal is found by search, marked as one, and ranks below what is agreed; rules, contexts and rule files leave it
out. Who accepts it becomes its author; a proposed change of a memory is carried out then. A dismissed one is forgotten.
Both can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from commonplace.errors import Conflict
from commonplace.memory.edit_and_forget import Changes, edit_item
from commonplace.memory.items import ItemPage, browse_items, get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import require_person
from commonplace.memory.proposed_changes import carry_out, is_change, put_away, replaced_when_accepted, take_back
from commonplace.memory.statement_texts import statement_text
from commonplace.model import ACCEPTED, DISMISSED, PROPOSED, VALIDITY_FIELDS, Item, Scope
from commonplace.text.dates import short_iso_time
from commonplace.text.sentences import title_of


def list_proposals(
    memory: LocalMemory, scope: Scope | None = None, limit: int = 20, cursor: str | None = None
) -> ItemPage:
    """What waits for a decision, the newest first."""
    return browse_items(memory, replace(scope or Scope(), review=PROPOSED), limit, cursor)


def count_proposals(memory: LocalMemory, most: int = 100) -> int:
    """How many wait, up to so many."""
    return len(memory.store.newest(Scope(review=PROPOSED), most))


def accept(memory: LocalMemory, ids: Sequence[int | str], seen: Mapping[int | str, int] | None = None) -> list[Item]:
    """Agree with proposals: they count as agreed from now on, and whoever accepts them is their author.

    `seen` has the revisions that the person read: what was changed since is not what they agreed with.
    """
    _require_person(memory)
    items = [_waiting(memory, id_, (seen or {}).get(id_)) for id_ in ids]
    now = memory.clock()
    for item in items:
        carry_out(memory, item, now)
    memory.store.review([item.id for item in items], ACCEPTED, now, memory.writer)
    for item in items:
        put_away(memory, item, now)
    memory.store.record_use([item.id for item in items], now)
    return [get_item(memory, item.id, forgotten=True) for item in items]


def accept_changed(memory: LocalMemory, id_: int | str, changes: Changes, expect_rev: int | None = None) -> Item:
    """Change a proposal and agree with what it says then."""
    _require_person(memory)
    item = _waiting(memory, id_, expect_rev)
    if changes != Changes():
        edit_item(memory, item.id, changes, expect_rev)
    if get_item(memory, item.id).review == PROPOSED:
        return accept(memory, [item.id])[0]
    # The person's own words need no acceptance; what they were to replace, they replace.
    carry_out(memory, item, memory.clock())
    return get_item(memory, item.id)


def dismiss(memory: LocalMemory, ids: Sequence[int | str]) -> list[Item]:
    """Turn proposals down: they vanish from every answer, and are not proposed again. `undo_review` undoes it."""
    _require_person(memory)
    items = [_waiting(memory, id_) for id_ in ids]
    memory.store.review([item.id for item in items], DISMISSED, memory.clock(), memory.writer)
    return [get_item(memory, item.id, forgotten=True) for item in items]


def undo_review(memory: LocalMemory, id_: int | str) -> Item:
    """Let something that was accepted or dismissed wait for review again, as whoever proposed it wrote it."""
    _require_person(memory)
    item = get_item(memory, id_, forgotten=True)
    if item.review not in (ACCEPTED, DISMISSED):
        raise Conflict(f"Item {item.id} was neither accepted nor dismissed.", "There is nothing to undo.")
    take_back(memory, item)
    memory.store.review([item.id], PROPOSED, memory.clock(), memory.writer)
    memory.embeddings.wake()
    return get_item(memory, item.id)


def said_besides(memory: LocalMemory, item: Item) -> list[str]:
    """What accepting a proposal says or does besides its text. A proposed change says all of it itself."""
    if is_change(item):
        return []
    fields = {name: value for name, value in item.details.items() if value and value != item.text}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    if item.body.strip() and item.title != title_of(item.body):
        lines.insert(0, f"title: {item.title}")
    if item.tags:
        lines.append(f"tags: {', '.join(sorted(item.tags))}")
    bounds = {name.removesuffix("_ms").replace("_", " "): getattr(item, name) for name in VALIDITY_FIELDS}
    lines += [f"{name}: {short_iso_time(moment)}" for name, moment in bounds.items() if moment is not None]
    if (replaced := replaced_when_accepted(memory, item)) is not None:
        lines.append(f"replaces {replaced.type} {replaced.short_id}: {statement_text(replaced)}")
    return lines


def _waiting(memory: LocalMemory, id_: int | str, seen: int | None = None) -> Item:
    item = get_item(memory, id_)
    if item.review != PROPOSED:
        raise Conflict(f"Item {item.id} is not waiting for review.", "`commonplace review --list` shows what is.")
    # That somebody decided about it and took that back is no change of what it says.
    if seen is not None and any(line.rev >= seen and line.op == "edit" for line in memory.store.history(item.id)):
        raise Conflict(f"Item {item.id} was changed since you read it.", "Read it again, and decide then.")
    return item


def _require_person(memory: LocalMemory) -> None:
    """What an agent proposed no agent may accept, or the review would be worth nothing."""
    require_person(memory, "review", "Review it yourself: `commonplace review`, or the Review page of the dashboard.")
