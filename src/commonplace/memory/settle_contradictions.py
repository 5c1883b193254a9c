"""Settling: which of two statements holds, and undoing that. Only a person does either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.errors import Conflict, InvalidInput
from commonplace.memory.contradictions import BOTH_HOLD, SAME, is_settled, relation
from commonplace.memory.edit_and_forget import Changes, edit_item, enrich_item, mark_superseded, restore_items
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import require_person
from commonplace.memory.statement_pairs import StatementPair
from commonplace.model import Item, linked_uids
from commonplace.store.rows import item_before, state_before_planned_end

Keep = Literal["new", "old", "both"]
KEEP: tuple[Keep, ...] = ("new", "old", "both")

_SETTLE_YOURSELF = "Do it yourself: `commonplace contradictions`, or the Review page of the dashboard."


@dataclass(frozen=True, slots=True)
class Settled:
    """How two statements were settled. `kept` is what holds now."""

    older: Item
    newer: Item
    keep: str
    kept: tuple[Item, ...]


def settle_contradiction(memory: LocalMemory, one: int | str, other: int | str, keep: Keep) -> Settled:
    """Say which of two statements holds: the newer supersedes the older, or the other way round, or both hold.

    Tags of a statement that says the same go over to the one that is kept. Nothing is deleted.
    """
    require_person(memory, "settle a contradiction", _SETTLE_YOURSELF)
    older, newer = _by_age(memory, one, other)
    if keep not in KEEP:
        raise InvalidInput(f"{keep!r} cannot be kept.", f"Choose one of {', '.join(KEEP)}.")
    if keep == "both":
        if not is_settled(older, newer):
            known = {**newer.meta, BOTH_HOLD: [*linked_uids(newer, BOTH_HOLD), older.uid]}
            newer = edit_item(memory, newer.id, Changes(meta=known))
        return Settled(older, newer, keep, (older, newer))
    gone, kept = (older, newer) if keep == "new" else (newer, older)
    _gone, kept = mark_superseded(memory, gone.id, by=kept.id)
    if relation(older, newer) == SAME:
        kept = enrich_item(memory, kept, gone.tags)
    return Settled(older, newer, keep, (kept,))


def reopen_contradiction(memory: LocalMemory, one: int | str, other: int | str) -> StatementPair:
    """Undo how two statements were settled: what was superseded by the other comes back."""
    require_person(memory, "open a settled contradiction again", _SETTLE_YOURSELF)
    older, newer = _by_age(memory, one, other)
    for item in (older, newer):
        if item.forgotten_ms is not None:
            raise Conflict(f"Item {item.id} is forgotten.", f"Bring it back first: `commonplace restore {item.id}`.")
    hidden = []
    if _is_superseded(memory, older, newer):
        hidden.append(older.id)
    if _is_superseded(memory, newer, older):
        hidden.append(newer.id)
    if not hidden and not is_settled(older, newer):
        raise Conflict(
            f"Nothing was decided about {older.id} and {newer.id}, so there is nothing to undo.",
            "`commonplace contradictions` lists what is open.",
        )
    if hidden:
        restore_items(memory, hidden)
    _unlink(memory, older, newer)
    _unlink(memory, newer, older)
    older, newer = _by_age(memory, one, other)
    return StatementPair(older, newer, relation(older, newer))


def _unlink(memory: LocalMemory, item: Item, other: Item) -> None:
    """Take away what an item notes of another: that both hold."""
    linked = linked_uids(item, BOTH_HOLD)
    if other.uid not in linked:
        return
    meta = dict(item.meta)
    meta[BOTH_HOLD] = [uid for uid in linked if uid != other.uid]
    if not meta[BOTH_HOLD]:
        del meta[BOTH_HOLD]
    edit_item(memory, item.id, Changes(meta=meta))


def _is_superseded(memory: LocalMemory, old: Item, by: Item) -> bool:
    """Whether an item gave way to another, or will when that begins to hold."""
    if old.superseded_by is not None or by.valid_from_ms is None or old.valid_until_ms != by.valid_from_ms:
        return old.superseded_by == by.id
    lines = [(change.op, change.before) for change in memory.store.history(old.id)]
    return state_before_planned_end(lines, item_before(old)) is not None


def _by_age(memory: LocalMemory, one: int | str, other: int | str) -> tuple[Item, Item]:
    first, second = (get_item(memory, id_, forgotten=True) for id_ in (one, other))
    if first.id == second.id:
        raise InvalidInput("One item does not contradict itself.", "Name two items.")
    return (first, second) if (first.created_ms, first.id) < (second.created_ms, second.id) else (second, first)
