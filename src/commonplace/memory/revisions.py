"""Revisions: what an item was before each of its changes, and what each change changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.items import get_item
from commonplace.memory.items import item_history as changes_of
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import as_new_item, rewrite_item
from commonplace.model import Item

# What an item says comes first, then where it belongs.
_FIELDS = ("title", "body", "type", "project", "tags", "importance", "details", "meta")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field before and after, as text; empty where it was not there."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Revision:
    """One change: `rev` is what it changed, so going back to `rev` undoes it and what came later."""

    rev: int
    op: str
    at_ms: int
    changed: tuple[FieldChange, ...]


def item_revisions(memory: LocalMemory, id_: int | str) -> list[Revision]:
    """Every change of an item, the latest first."""
    item = get_item(memory, id_, forgotten=True)
    changes = changes_of(memory, item.id)
    states = [*(change.before for change in changes), item_state(item)]
    found = [
        Revision(change.rev, change.op, change.at_ms, diff_states(states[n], states[n + 1]))
        for n, change in enumerate(changes)
    ]
    return found[::-1]


def item_state(item: Item) -> Mapping[str, object]:
    """What can change of an item, under the names that its history has."""
    return {name: getattr(item, name) for name in _FIELDS}


def diff_states(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[FieldChange, ...]:
    """The fields in which two states differ."""
    old, new = _flat(before), _flat(after)
    names = list(dict.fromkeys([*old, *new]))
    changed = (FieldChange(name, old.get(name, ""), new.get(name, "")) for name in names)
    return tuple(change for change in changed if change.before != change.after)


def _flat(state: Mapping[str, object]) -> dict[str, str]:
    """Each field as text; those of its kind and of its metadata by their own names."""
    flat: dict[str, str] = {}
    for name in _FIELDS:
        value = state.get(name)
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": _text(inner) for key, inner in value.items()}
        else:
            flat[name] = _text(value)
    return flat


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(sorted(map(str, value)))
    return str(value)


def revert_to_revision(memory: LocalMemory, id_: int | str, rev: int | None = None) -> Item:
    """Rewrite an item as it was at revision `rev`, by default before its last change of content."""
    item = get_item(memory, id_)
    known = {change.rev: change for change in memory.store.history(item.id)}
    edits = [number for number, change in known.items() if change.op == "edit"]
    if rev is None and not edits:
        raise InvalidInput(f"Item {item.id} was never changed.", "There is nothing to revert to.")
    change = known.get(edits[-1] if rev is None else rev)
    if change is None:
        raise NotFound(
            f"Item {item.id} has no revision {rev} to go back to.",
            f"It is at {item.rev}; earlier ones: {', '.join(map(str, sorted(known))) or 'none'}.",
        )
    before: dict[str, Any] = dict(change.before)
    was = {name: before[name] for name in ("type", "title", "details", "meta", "project", "tags", "importance")}
    return rewrite_item(memory, item, replace(as_new_item(item), content=before["body"], **was))
