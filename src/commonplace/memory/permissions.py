"""What a caller may do: the one place that every door asks.

Who calls is decided in callers.py. People may do everything that their key allows. Agents, hooks and imports may not
review, settle, or use the names of our own notes; and what a person decided they change by a proposal only
(proposed_changes.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from commonplace.errors import Forbidden
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.private_projects import is_private, private_projects
from commonplace.model import (
    ACCEPTED,
    DISMISSED,
    HIDDEN_TAG,
    PINNED_TAG,
    PRIVATE_TAG,
    SAME_AS,
    VALIDITY_FIELDS,
    Draft,
    Item,
    Scope,
    SessionScope,
)

RESERVED_TAGS = frozenset({PINNED_TAG, HIDDEN_TAG})
PROPOSED_CHANGE = "proposed_change"
"""In the metadata of a proposal: what accepting it does to another item."""
CLAIMED_AUTHOR = "claimed_author"
"""In the metadata of what came by sync: the author that the record named, where its key could not speak for them."""
RESERVED_METADATA = frozenset(
    {
        # How statements were compared and settled.
        *("both_hold", SAME_AS, "contradicts", "compatible", "repeats"),
        # Where something came from.
        *("sentence", "source_said", CLAIMED_AUTHOR),
        # What hooks noted.
        *("told", "heard", "said_again", "broken_by"),
        PROPOSED_CHANGE,
    }
)
"""The names in metadata under which we keep notes of our own, and act on them."""
# Stated or accepted by a person. What no author is known of may be either.
_BY_PEOPLE = ("person", "agreed", None)
# Of a session's memories, so many are looked at before it is forgotten.
_MOST_LOOKED_AT = 1_000


def is_person(memory: LocalMemory) -> bool:
    """Whether a person calls; what they import and accept as their own, they agreed to (`for_import`)."""
    return memory.writer.origin in ("person", "agreed")


def require_person(memory: LocalMemory, action: str, instead: str) -> None:
    """Refuse what only people may do: `action` completes "Only a person can", `instead` says where."""
    if not is_person(memory):
        caller = memory.writer.name or "this caller"
        raise Forbidden(f"Only a person can {action}, and {caller} is an agent.", instead)


def must_propose(memory: LocalMemory, item: Item) -> bool:
    """Whether this caller may change an item only by a proposal.

    What a person reviewed, pinned or hid always waits for a person. With `agent_memories = "proposed"` so does what
    people stated, and for agents each memory that no agent wrote.
    """
    if is_person(memory):
        return False
    if item.review == ACCEPTED or not RESERVED_TAGS.isdisjoint(item.tags):
        return True
    by_others = memory.writer.origin == "agent" and item.kind == "memory" and item.origin != "agent"
    return (by_others or item.origin in _BY_PEOPLE) and memory.settings.agent_memories == "proposed"


def must_propose_restoring(memory: LocalMemory, item: Item) -> bool:
    """Whether this caller may bring an item back only by a proposal, which it may not if an agent took it away.

    What was dismissed, only people bring back.
    """
    if is_person(memory):
        return False
    if item.review == DISMISSED:
        require_person(memory, "bring back what was dismissed", "Do it yourself: `commonplace review undo`.")
    return must_propose(memory, item) or not _changed_last_by_agent(memory, item)


def must_propose_rewriting(memory: LocalMemory, item: Item, draft: Draft) -> bool:
    """Whether this caller may rewrite an item like this only by a proposal.

    Forbidden if that would share what is private.
    """
    bounds = {name: getattr(draft, name) for name in VALIDITY_FIELDS}
    if must_propose(memory, item) or _revives(memory, item, bounds):
        return True
    _check_stays_private(memory, item, draft.tags, draft.project)
    return False


def must_propose_record(memory: LocalMemory, item: Item, fields: Mapping[str, Any]) -> bool:
    """Whether this caller may bring another version of an item, with these fields, only by a proposal.

    Forbidden if that would share what is private.
    """
    is_restored = item.forgotten_ms is not None and fields["forgotten_ms"] is None
    holds_again = item.superseded_by is not None and fields["superseded_by"] is None
    if (is_restored or holds_again) and must_propose_restoring(memory, item):
        return True
    bounds = {name: fields[name] for name in VALIDITY_FIELDS}
    if must_propose(memory, item) or _revives(memory, item, bounds):
        return True
    _check_stays_private(memory, item, fields["tags"], fields["project"])
    return False


def _revives(memory: LocalMemory, item: Item, bounds: Mapping[str, Any]) -> bool:
    """Whether an item would hold again by an agent's change, although a person said when it ends."""
    now = memory.clock()
    if is_person(memory) or item.origin not in _BY_PEOPLE or item.holds_at(now):
        return False
    return replace(item, **bounds).holds_at(now) and not _changed_last_by_agent(memory, item)


def _changed_last_by_agent(memory: LocalMemory, item: Item) -> bool:
    return [change.origin for change in memory.store.history(item.id)][-1:] == ["agent"]


def check_reserved(
    memory: LocalMemory, tags: Sequence[str] = (), metadata: Mapping[str, object] | None = None, old: Item | None = None
) -> None:
    """Refuse the names of our own notes from agents and imports, except where the item has the same already.

    Hooks write such notes; no other caller comes in as one. What is private does not belong on a server of others.
    """
    if not memory.writer.may_quote and PRIVATE_TAG in {*map(_plain, tags)} - {*(old.tags if old else ())}:
        raise Forbidden(
            "Everybody in this space can read what is stored here, also with the tag `private`.",
            "Keep it in the memory of your own machine: `commonplace add TEXT --tag private`.",
        )
    if is_person(memory) or memory.writer.origin == "captured":
        return
    wrong = _reserved_names(tags, metadata or {}, old)
    if wrong:
        raise Forbidden(
            f"{', '.join(repr(name) for name in wrong)}: Commonplace keeps its own notes under this name.",
            "Choose another name. To pin or hide a line of the profile, or to settle a contradiction, ask a person.",
        )


def _reserved_names(tags: Sequence[str], metadata: Mapping[str, object], old: Item | None) -> list[str]:
    """The names of our own notes among tags and metadata, but for those that the item has already."""
    known_tags = set(old.tags) if old else set()
    known_notes = old.meta if old else {}
    found = [tag for tag in map(_plain, tags) if tag in RESERVED_TAGS - known_tags]
    for name, value in metadata.items():
        is_known = name in known_notes and known_notes[name] == value
        if _plain(name) in RESERVED_METADATA and not is_known:
            found.append(name)
    return found


def _check_stays_private(memory: LocalMemory, old: Item, tags: Sequence[str], project: str | None) -> None:
    """Refuse to let an agent take the tag `private` away, or move a memory out of a project that stays here."""
    if is_person(memory):
        return
    untagged = _is_tagged_private(old.tags) and not _is_tagged_private(tags)
    moved = False
    if project != old.project:
        private = private_projects(memory)
        moved = is_private(private, old.project) and not is_private(private, project)
    if untagged or moved:
        require_person(
            memory,
            f"share what is private (item {old.id})",
            f"Keep the tag `{PRIVATE_TAG}`, or let them do it: `commonplace edit {old.id}`.",
        )


def _is_tagged_private(tags: Sequence[str]) -> bool:
    return PRIVATE_TAG in map(_plain, tags)


def kept_notes(memory: LocalMemory, metadata: Mapping[str, object], old: Item) -> Mapping[str, object]:
    """New metadata for an item, with our own notes that only a person may take away."""
    if is_person(memory):
        return metadata
    return {**metadata, **{name: value for name, value in old.meta.items() if name in RESERVED_METADATA}}


def check_forgettable(memory: LocalMemory, session_id: int) -> None:
    """Refuse to let an agent forget a conversation together with memories that only a person may forget."""
    if is_person(memory):
        return
    scope = Scope(kinds=("memory",), sessions=SessionScope(ids=(session_id,), empty=True), lapsed=True, coming=True)
    kept = [item for item in memory.store.newest(scope, _MOST_LOOKED_AT) if must_propose(memory, item)]
    if kept:
        require_person(
            memory,
            f"forget a conversation with what people decided in it (item {kept[0].id})",
            "Forget single memories, which proposes it, or ask a person.",
        )


def _plain(name: str) -> str:
    """A name as people read it: capitals and spaces around it make no other one."""
    return " ".join(name.split()).casefold()
