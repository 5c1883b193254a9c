"""Revisions: what an item was before each of its changes, and what each change changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.fetch import history as changes_of
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


def revisions(book: Book, id_: int | str) -> list[Revision]:
    """Every change of an item, the latest first."""
    item = fetch_one(book, id_, forgotten=True)
    changes = changes_of(book, item.id)
    states = [*(change.before for change in changes), state_of(item)]
    found = [
        Revision(change.rev, change.op, change.at_ms, compared(states[n], states[n + 1]))
        for n, change in enumerate(changes)
    ]
    return found[::-1]


def state_of(item: Item) -> Mapping[str, object]:
    """What can change of an item, under the names that its history has."""
    return {name: getattr(item, name) for name in _FIELDS}


def compared(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[FieldChange, ...]:
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
