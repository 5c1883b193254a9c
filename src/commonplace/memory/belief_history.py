"""The history of a belief: what held when and who changed it, across the items that replaced each other.

An item that superseded another continues its history: the reader sees one line in time, from what was stated first to
what holds now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from commonplace.memory.edit_and_forget import FieldChange, diff_states, item_revisions
from commonplace.memory.items import item_history
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item

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
    """Everything that an item, what it replaced and what replaced it have said, the latest first."""
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
    history = item_history(memory, item.id)
    revisions = item_revisions(memory, item.id)[::-1]
    first = history[0].before if history else None
    author = str(first.get("author") or "") if first else item.author
    text = str(first.get("body") or "") if first else item.text
    old = max((one for one in chain.values() if one.superseded_by == item.id), key=lambda one: one.id, default=None)
    born = Stage(item, STATED, item.created_ms, author or None, text)
    if old is None or not _stated_to_replace(memory, item, old):
        yield born
    else:
        changed = diff_states({"body": old.text}, {"body": text})
        yield replace(born, op=REPLACED, changed=changed, replaced=old)
    states = [*(str(change.before.get("body") or "") for change in history), item.text][1:]
    above = chain.get(item.superseded_by or 0)
    for revision, after in zip(revisions, states, strict=True):
        # Told by what was stated to replace it.
        if revision.op != SUPERSEDE or above is None or not _stated_to_replace(memory, above, item):
            yield Stage(item, revision.op, revision.at_ms, revision.author, after, revision.rev, revision.changed)


def _stated_to_replace(memory: LocalMemory, item: Item, old: Item) -> bool:
    """Whether an item replaced another from the start, and not only when somebody settled which of them holds."""
    times = [change.at_ms for change in item_history(memory, old.id) if change.op == SUPERSEDE]
    return bool(times) and abs(times[-1] - item.created_ms) < AT_ONCE_MS
