"""Change items: edit, add tags and metadata, supersede, forget and restore. The history keeps what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.items import get_item
from commonplace.memory.items import item_history as changes_of
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, as_new_item, redraft, rewrite_item
from commonplace.memory.validity import follows_text
from commonplace.model import VALIDITY_FIELDS, Item
from commonplace.text.dates import short_iso_time
from commonplace.text.project_names import base_name
from commonplace.text.validity import NO_BOUND, Bound, read_validity


def mark_superseded(memory: LocalMemory, old: int | str, by: int | str) -> tuple[Item, Item]:
    """Mark `old` as replaced by `by`. Restoring the old one undoes it."""
    replacing = get_item(memory, by)
    replaced = check_replaceable(memory, old, replacing)
    memory.store.supersede(replaced.id, replacing.id, memory.clock(), memory.writer)
    return replaced, replacing


def check_replaceable(memory: LocalMemory, old: int | str, new: Item) -> Item:
    """The item to be replaced, if the new one holds wherever the old one did; else Conflict."""
    replaced = get_item(memory, old)
    if new.project is not None and new.project != replaced.project:
        place = "everywhere" if replaced.project is None else f"in {base_name(replaced.project)}"
        raise Conflict(
            f"Item {replaced.id} applies {place}, but {new.id} only in {base_name(new.project)}.",
            f"Forget {replaced.id} if it is no longer valid, or add {new.id} again where {replaced.id} applies.",
        )
    return replaced


@dataclass(frozen=True, slots=True)
class Changes:
    """New values; None leaves a field as it is."""

    content: str | None = None
    title: str | None = None
    type: str | None = None
    project: str | None = None
    tags: Sequence[str] | None = None
    importance: float | None = None
    details: Mapping[str, str] | None = None
    meta: Mapping[str, object] | None = None
    valid_from_ms: Bound = None
    valid_until_ms: Bound = None
    expires_ms: Bound = None


def edit_item(
    memory: LocalMemory,
    id_: int | str,
    changes: Changes,
    expect_rev: int | None = None,
    supersedes: int | str | None = None,
) -> Item:
    """Rewrite an item, and mark the one it `supersedes`: both or neither.

    With `expect_rev` the change is refused if someone else was quicker.
    """
    if changes == Changes():
        if supersedes is None:
            raise InvalidInput("Nothing to change.", "Give at least one field besides the id.")
        return mark_superseded(memory, supersedes, by=id_)[1]
    old = get_item(memory, id_)
    note = _changed(old, changes, memory.clock())
    if supersedes is None and expect_rev in (None, old.rev) and _says_the_same(memory, old, note):
        return old
    replaced = None if supersedes is None else check_replaceable(memory, supersedes, old).id
    return rewrite_item(memory, old, note, expect_rev, replaced)


def _says_the_same(memory: LocalMemory, old: Item, note: NewItem) -> bool:
    """Whether nothing would change, so that the item keeps its revision."""
    new = redraft(old, note, memory.clock())
    project = None if new.project is None else memory.store.find_project(new.project)
    names = ("type", "title", "body", "importance", *VALIDITY_FIELDS)
    same = all(getattr(new, name) == getattr(old, name) for name in names)
    return (
        same
        and project == old.project
        and set(new.tags) == set(old.tags)
        and dict(new.details) == dict(old.details)
        and dict(new.meta) == dict(old.meta)
    )


def _changed(old: Item, changes: Changes, now_ms: int) -> NewItem:
    new: dict[str, Any] = {field.name: getattr(changes, field.name) for field in fields(changes)}
    new = {name: value for name, value in new.items() if value is not None}
    new |= {name: None for name in VALIDITY_FIELDS if new.get(name) == NO_BOUND}
    says_when = changes.valid_from_ms is not None or changes.valid_until_ms is not None
    if changes.content is not None and not says_when and follows_text(old):
        new["valid_from_ms"], new["valid_until_ms"] = read_validity(changes.content, now_ms)
    if changes.details is not None:
        new["details"] = {**old.details, **changes.details}
    # A title that was taken from the text follows the text.
    if changes.content is not None and old.kind == "memory" and old.body.startswith(old.title.rstrip("…")):
        new.setdefault("title", "")
    return replace(as_new_item(old), **new)


def enrich_item(
    memory: LocalMemory,
    item: Item,
    tags: Sequence[str] = (),
    meta: Mapping[str, object] | None = None,
    validity: Sequence[int | None] = (None, None, None),
) -> Item:
    """Add tags and metadata to an item. Nothing is lost; a metadata key that is given again gets its new value.

    So does an interval that is said again; what no longer held, and is said again without one, holds again.
    """
    more_tags = [tag for tag in tags if " ".join(tag.split()) not in item.tags]
    merged = {**item.meta, **(meta or {})}
    changes = Changes()
    if more_tags or merged != item.meta:
        changes = Changes(tags=[*item.tags, *more_tags], meta=merged)
    known = tuple(getattr(item, name) for name in VALIDITY_FIELDS)
    if tuple(validity) != known and (any(validity) or not item.holds_at(memory.clock())):
        bounds: dict[str, Any] = dict(zip(VALIDITY_FIELDS, (ms or NO_BOUND for ms in validity), strict=True))
        changes = replace(changes, **bounds)
    return item if changes == Changes() else edit_item(memory, item.id, changes)


def forget_items(memory: LocalMemory, ids: Sequence[int | str]) -> list[Item]:
    """Take items out of every answer. All of them exist, or nothing happens."""
    items = [get_item(memory, id_, forgotten=True) for id_ in ids]
    memory.store.forget([item.id for item in items], memory.clock(), memory.writer)
    return items


def restore_items(memory: LocalMemory, ids: Sequence[int | str]) -> list[Item]:
    """Bring forgotten or superseded items back."""
    items = [get_item(memory, id_, forgotten=True) for id_ in ids]
    memory.store.restore([item.id for item in items], memory.clock(), memory.writer)
    memory.embeddings.wake()
    return items


# What an item says comes first, then where it belongs.
_FIELDS = ("title", "body", "type", "project", "tags", "importance", *VALIDITY_FIELDS, "details", "meta")


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
    author: str | None = None


def item_revisions(memory: LocalMemory, id_: int | str) -> list[Revision]:
    """Every change of an item, the latest first."""
    item = get_item(memory, id_, forgotten=True)
    changes = changes_of(memory, item.id)
    states = [*(change.before for change in changes), item_state(item)]
    found = [
        Revision(change.rev, change.op, change.at_ms, diff_states(states[n], states[n + 1]), change.author)
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
        if name in VALIDITY_FIELDS and isinstance(value, int):
            flat[name.removesuffix("_ms")] = short_iso_time(value)
        elif isinstance(value, Mapping):
            flat |= {f"{name}.{key}": _text(inner) for key, inner in value.items()}
        else:
            flat[name.removesuffix("_ms")] = _text(value)
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
    was |= {name: before.get(name) for name in VALIDITY_FIELDS}
    return rewrite_item(memory, item, replace(as_new_item(item), content=before["body"], **was))
