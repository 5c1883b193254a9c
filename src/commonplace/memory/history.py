"""The history of items: their revisions, and what replaced what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.memory.items import get_item, item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import VALIDITY_FIELDS, Change, Item
from commonplace.text.dates import short_iso_time

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
    changes = item_history(memory, item.id)
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
            flat |= {f"{name}.{key}": _as_text(inner) for key, inner in value.items()}
        else:
            flat[name.removesuffix("_ms")] = _as_text(value)
    return flat


def _as_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(sorted(map(str, value)))
    return str(value)


# Items before and after one that are followed, in each direction.
MAX_ITEMS = 20
# A replacement that was stated within this time was stated to replace.
AT_ONCE_MS = 60_000
STATED, REPLACED, SUPERSEDE = "state", "replace", "supersede"


@dataclass(frozen=True, slots=True)
class Stage:
    """What an item said from a moment on. `op` is how that came about: stated, replacing another, or a change.

    `rev` is the revision that a change changed, so going back to `rev` undoes it; 0 where nothing was there before.
    `changed` are the fields in which it differs from what was before. `until_ms` is None for what is still so.
    """

    item: Item
    op: str
    at_ms: int
    author: str | None
    text: str
    rev: int = 0
    changed: tuple[FieldChange, ...] = ()
    until_ms: int | None = None
    replaced: Item | None = None


def belief_history(memory: LocalMemory, item: Item) -> list[Stage]:
    """Everything that an item, what it replaced and what replaced it have said, the latest first.

    An item that superseded another continues its history: one line in time, from what was stated first to what holds.
    """
    chain = _chain(memory, item)
    stages = sorted((stage for one in chain.values() for stage in _stages(memory, one, chain)), key=_when)
    following = [*(later.at_ms for later in stages[1:]), None]
    return [replace(stage, until_ms=until) for stage, until in zip(stages, following, strict=True)][::-1]


def _when(stage: Stage) -> tuple[int, int, int]:
    return stage.at_ms, stage.item.id, stage.rev


def _chain(memory: LocalMemory, item: Item) -> dict[int, Item]:
    """The item with what it replaced, what that replaced, and so on, and what came after it."""
    found = {item.id: item}
    waiting = [item.id]
    while waiting and len(found) <= MAX_ITEMS:
        before = memory.store.get(id_ for id_ in memory.store.superseded(waiting.pop()) if id_ not in found)
        found |= before
        waiting += before
    above = item
    for _step in range(MAX_ITEMS):
        if above.superseded_by is None or above.superseded_by in found:
            break
        after = memory.store.get([above.superseded_by])
        if not after:
            break
        above = after[above.superseded_by]
        found[above.id] = above
    return found


def _stages(memory: LocalMemory, item: Item, chain: dict[int, Item]) -> Iterator[Stage]:
    """What one item of a chain has said: from when it was stated, and after each of its changes."""
    history = item_history(memory, item.id)
    # What it said before each change, and what it says now.
    texts = [str(change.before.get("body") or "") for change in history]
    texts.append(item.text)
    yield _first_stage(memory, item, history, texts[0], chain)
    above = chain.get(item.superseded_by or 0)
    # Such a change is shown as the first stage of what was stated to replace it.
    is_told_above = above is not None and _stated_to_replace(memory, above, item)
    oldest_first = reversed(item_revisions(memory, item.id))
    for revision, text in zip(oldest_first, texts[1:], strict=True):
        if revision.op != SUPERSEDE or not is_told_above:
            yield Stage(item, revision.op, revision.at_ms, revision.author, text, revision.rev, revision.changed)


def _first_stage(
    memory: LocalMemory, item: Item, history: Sequence[Change], text: str, chain: Mapping[int, Item]
) -> Stage:
    """How an item came about: stated, or stated to replace another one."""
    author = str(history[0].before.get("author") or "") if history else item.author
    stated = Stage(item, STATED, item.created_ms, author or None, text)
    replaced = [one for one in chain.values() if one.superseded_by == item.id]
    old = max(replaced, key=lambda one: one.id, default=None)
    if old is None or not _stated_to_replace(memory, item, old):
        return stated
    changed = diff_states({"body": old.text}, {"body": text})
    return replace(stated, op=REPLACED, changed=changed, replaced=old)


def _stated_to_replace(memory: LocalMemory, item: Item, old: Item) -> bool:
    """Whether an item replaced another from the start, and not only when somebody settled which of them holds."""
    times = [change.at_ms for change in item_history(memory, old.id) if change.op == SUPERSEDE]
    return bool(times) and abs(times[-1] - item.created_ms) < AT_ONCE_MS
