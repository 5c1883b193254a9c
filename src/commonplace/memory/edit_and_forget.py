"""Change items: edit, tag, supersede, forget, restore, and when they hold. Their history keeps what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from commonplace.errors import Conflict, InvalidInput, NotFound
from commonplace.memory.authors import sign
from commonplace.memory.draft import NewItem, as_it_was, as_new_item, redraft
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import (
    check_reserved,
    is_person,
    kept_notes,
    must_propose,
    must_propose_restoring,
    must_propose_rewriting,
)
from commonplace.memory.proposed_changes import (
    check_editable,
    is_only_proposed,
    propose_edit,
    propose_forgetting,
    propose_restoring,
    propose_superseding,
    supersede_when_accepted,
)
from commonplace.model import ACCEPTED, PROPOSED, VALIDITY_FIELDS, Item
from commonplace.text.project_names import base_name
from commonplace.text.validity import NO_BOUND, Bound, parse_bound, read_validity


def rewrite_item(
    memory: LocalMemory, item: Item, note: NewItem, expect_rev: int | None = None, supersedes: int | None = None
) -> Item:
    """Rewrite an item. An event keeps what distinguishes it from others.

    Where this caller may only propose that, the item stays as it is, and this is the proposal.
    """
    check_editable(item)
    now = memory.clock()
    draft = redraft(item, note, now)
    if must_propose_rewriting(memory, item, draft):
        return propose_edit(memory, item, note, expect_rev)
    draft = sign(memory, draft, item)
    rewritten = memory.store.rewrite(item.id, draft, now, expect_rev, supersedes, memory.writer)
    memory.embeddings.wake()
    return rewritten


def mark_superseded(memory: LocalMemory, old: int | str, by: int | str) -> tuple[Item, Item]:
    """Mark `old` as replaced by `by`. Restoring the old one undoes it.

    A proposal replaces nothing before it is accepted: a person who says that it replaces something accepts it. Where
    the caller may only propose this, the first of the two is the proposal.
    """
    replacing = get_item(memory, by)
    replaced = check_replaceable(memory, old, replacing)
    if replacing.review == PROPOSED and not must_propose(memory, replacing) and not is_person(memory):
        return supersede_when_accepted(memory, replaced, replacing), replacing
    if must_propose(memory, replaced):
        return propose_superseding(memory, replaced, replacing), replacing
    if replacing.review == PROPOSED:
        check_editable(replacing)
        memory.store.review([replacing.id], ACCEPTED, memory.clock(), memory.writer)
    memory.store.supersede(replaced.id, replacing.id, memory.clock(), memory.writer)
    return replaced, get_item(memory, replacing.id)


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

    With `expect_rev` the change is refused if someone else was quicker. Where the caller may only propose this, the
    item stays as it is, and what comes back is the proposal (`is_only_proposed`).
    """
    if changes == Changes():
        if supersedes is None:
            raise InvalidInput("Nothing to change.", "Give at least one field besides the id.")
        first, replacing = mark_superseded(memory, supersedes, by=id_)
        return first if is_only_proposed(first) else replacing
    old = get_item(memory, id_)
    check_reserved(memory, changes.tags or (), changes.meta, old)
    if changes.meta is not None:
        changes = replace(changes, meta=kept_notes(memory, changes.meta, old))
    note = _changed(old, changes, memory.clock())
    if supersedes is None and expect_rev in (None, old.rev) and _says_the_same(memory, old, note):
        return old
    if supersedes is None:
        return rewrite_item(memory, old, note, expect_rev)
    replaced = check_replaceable(memory, supersedes, old)
    if old.review == PROPOSED or must_propose(memory, old) or must_propose(memory, replaced):
        # Each of the two changes is decided for itself.
        edited = rewrite_item(memory, old, note, expect_rev)
        first, _replacing = mark_superseded(memory, replaced.id, by=old.id)
        return first if is_only_proposed(first) else edited
    return rewrite_item(memory, old, note, expect_rev, replaced.id)


def _says_the_same(memory: LocalMemory, old: Item, note: NewItem) -> bool:
    """Whether nothing would change, so that the item keeps its revision."""
    new = redraft(old, note, memory.clock())
    project = None if new.project is None else memory.store.find_project(new.project) or new.project
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
    """An item with new values, as it would be stored now."""
    new: dict[str, Any] = {}
    for field in fields(changes):
        value = getattr(changes, field.name)
        if value is not None:
            is_removed = field.name in VALIDITY_FIELDS and value == NO_BOUND
            new[field.name] = None if is_removed else value
    if changes.details is not None:
        new["details"] = {**old.details, **changes.details}
    if changes.content is not None:
        says_when = changes.valid_from_ms is not None or changes.valid_until_ms is not None
        if not says_when and follows_text(old):
            new["valid_from_ms"], new["valid_until_ms"] = read_validity(changes.content, now_ms)
        # A title that was taken from the text follows the text.
        if old.kind == "memory" and old.body.startswith(old.title.rstrip("…")):
            new.setdefault("title", "")
    return replace(as_new_item(old), **new)


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
    note = as_it_was(item, change.before)
    check_reserved(memory, note.tags, note.meta, item)
    return rewrite_item(memory, item, note)


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
    """Take items out of every answer. All of them exist, or nothing happens.

    In place of those that the caller may only propose to forget, the proposals come back.
    """
    items = [get_item(memory, id_, forgotten=True) for id_ in ids]
    held = [item for item in items if item.forgotten_ms is None and must_propose(memory, item)]
    memory.store.forget([item.id for item in items if item not in held], memory.clock(), memory.writer)
    return [propose_forgetting(memory, item) if item in held else item for item in items]


def restore_items(memory: LocalMemory, ids: Sequence[int | str]) -> list[Item]:
    """Bring forgotten or superseded items back.

    In place of those that the caller may only propose to bring back, the proposals come back.
    """
    items = [get_item(memory, id_, forgotten=True) for id_ in ids]
    # One that still holds may have been given an end by what is to replace it.
    ended = [item for item in items if item.forgotten_ms or item.superseded_by or item.valid_until_ms]
    held = [item for item in ended if must_propose_restoring(memory, item)]
    memory.store.restore([item.id for item in items if item not in held], memory.clock(), memory.writer)
    memory.embeddings.wake()
    return [propose_restoring(memory, item) if item in held else item for item in items]


def is_read_from_text(item: Item) -> bool:
    """Whether the interval of an item is what its text says."""
    return (item.valid_from_ms, item.valid_until_ms) != (None, None) and follows_text(item)


def follows_text(item: Item) -> bool:
    """Whether nobody gave an item another interval than its text says, if that says any."""
    given = (item.valid_from_ms, item.valid_until_ms)
    return item.kind == "memory" and any(
        read_validity(item.body, stated_ms) == given for stated_ms in (item.created_ms, item.updated_ms)
    )


def with_validity(
    new: NewItem,
    now_ms: int,
    valid_from: datetime | int | str | None = None,
    valid_until: datetime | int | str | None = None,
    expires: datetime | int | str | None = None,
) -> NewItem:
    """A new item that holds from a moment, until another, and is hidden from a third on; `none` is no bound."""
    bounds = parse_validity(now_ms, valid_from, valid_until, expires)
    if not bounds:
        return new
    moments: dict[str, Any] = {name: None if ms == NO_BOUND else ms for name, ms in bounds.items()}
    start, end = moments.get("valid_from_ms"), moments.get("valid_until_ms")
    reads = new.reads_validity and not {"valid_from_ms", "valid_until_ms"} & bounds.keys()
    return replace(
        new, valid_from_ms=start, valid_until_ms=end, expires_ms=moments.get("expires_ms"), reads_validity=reads
    )


def parse_validity(
    now_ms: int,
    valid_from: datetime | int | str | None = None,
    valid_until: datetime | int | str | None = None,
    expires: datetime | int | str | None = None,
) -> dict[str, Any]:
    """The bounds that are given, by the names of an item's fields."""
    given = {
        "valid_from_ms": parse_bound(valid_from, now_ms, end=False),
        "valid_until_ms": parse_bound(valid_until, now_ms, end=True),
        "expires_ms": parse_bound(expires, now_ms, end=True),
    }
    return {name: bound for name, bound in given.items() if bound is not None}
