"""Proposed changes: what an agent would do to a memory that people decided about, for a person to accept or dismiss.

A proposed change is a proposal like any other, of the type `change`: its text says what would happen, its metadata
names the memory and the change. Accepting it carries that out and takes the proposal out of every answer; undoing the
review takes both back. A proposed statement may itself name what it would supersede: that happens when it is accepted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from commonplace.errors import Conflict, NotFound
from commonplace.memory.authors import sign, sign_agreed
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import PROPOSED_CHANGE
from commonplace.memory.remember import NewItem, as_new_item, checked_meta, clean_text, make_draft, redraft
from commonplace.model import ACCEPTED, DISMISSED, PROPOSED, VALIDITY_FIELDS, Change, Item
from commonplace.text.dates import short_iso_time

CHANGE_TYPE = "change"
EDIT, FORGET, RESTORE, SUPERSEDE = "edit", "forget", "restore", "supersede"
_VERBS = {EDIT: "Change", FORGET: "Forget", RESTORE: "Bring back", SUPERSEDE: "Replace"}
_CHANGED = ("content", "title", "type", "project", "tags", "importance", "details", "meta", *VALIDITY_FIELDS)


def _change_of(item: Item) -> Mapping[str, Any] | None:
    """What accepting a waiting proposal would do to another memory; None if it would do nothing."""
    noted = item.meta.get(PROPOSED_CHANGE)
    return noted if item.review == PROPOSED and isinstance(noted, Mapping) else None


def is_only_proposed(item: Item) -> bool:
    """Whether what came back from a change is the proposal of it, which waits for a person or was dismissed before."""
    return PROPOSED_CHANGE in item.meta and item.review in (PROPOSED, DISMISSED)


def check_editable(item: Item) -> None:
    """Refuse to rewrite a proposed change: what a person reads in it has to be what it does."""
    if is_change(item):
        raise Conflict(
            f"Item {item.id} is a proposed change, which cannot be edited.",
            "Accept or dismiss it (`commonplace review`), or edit the memory that it is about.",
        )


def propose_edit(memory: LocalMemory, item: Item, note: NewItem, expect_rev: int | None = None) -> Item:
    """Propose that an item says what the note does."""
    if expect_rev is not None and item.rev != expect_rev:
        raise Conflict(f"Item {item.id} is at revision {item.rev}, not {expect_rev}.")
    # What is wrong with the new text is said now, and not to whoever accepts it.
    redraft(item, note, memory.clock())
    now = as_new_item(item)
    new = {name: getattr(note, name) for name in _CHANGED if getattr(note, name) != getattr(now, name)}
    return _propose(memory, item, {"change": EDIT, "to": new})


def propose_forgetting(memory: LocalMemory, item: Item) -> Item:
    """Propose to forget an item."""
    return _propose(memory, item, {"change": FORGET})


def propose_restoring(memory: LocalMemory, item: Item) -> Item:
    """Propose to bring a forgotten or superseded item back."""
    return _propose(memory, item, {"change": RESTORE})


def propose_superseding(memory: LocalMemory, old: Item, new: Item) -> Item:
    """Propose that an item replaces another."""
    return _propose(memory, old, {"change": SUPERSEDE, "by": new.uid, "by_title": new.title})


def supersede_when_accepted(memory: LocalMemory, old: Item, new: Item) -> Item:
    """Note with a proposal that it replaces another item once it is accepted. It names one; another is proposed."""
    noted = _change_of(new)
    if noted is not None and noted.get("of") != old.uid:
        return propose_superseding(memory, old, new)
    meta = {**new.meta, PROPOSED_CHANGE: _about(old, {"change": SUPERSEDE, "by": new.uid, "by_title": new.title})}
    now = memory.clock()
    draft = sign(memory, redraft(new, replace(as_new_item(new), meta=meta), now), new)
    return memory.store.rewrite(new.id, draft, now, None, None, memory.writer)


def replaced_when_accepted(memory: LocalMemory, item: Item) -> Item | None:
    """What a proposed statement replaces once it is accepted, if that is there."""
    change = _change_of(item)
    if change is None or change.get("change") != SUPERSEDE:
        return None
    try:
        return get_item(memory, str(change.get("of")), forgotten=True)
    except NotFound:
        return None


def carry_out(memory: LocalMemory, item: Item, now_ms: int) -> None:
    """Do what a proposal proposes, in the name of the person who accepts it."""
    change = _change_of(item)
    if change is None:
        return
    target = _target(memory, item, change)
    what = change.get("change")
    if what == EDIT:
        note = replace(as_new_item(target), **_fields(change))
        draft = sign_agreed(memory, redraft(target, note, now_ms), target)
        memory.store.rewrite(target.id, draft, now_ms, None, None, memory.writer)
    elif what == FORGET:
        memory.store.forget([target.id], now_ms, memory.writer)
    elif what == RESTORE:
        memory.store.restore([target.id], now_ms, memory.writer)
    else:
        by = get_item(memory, str(change.get("by")))
        if by.review == PROPOSED and by.id != item.id:
            memory.store.review([by.id], ACCEPTED, now_ms, memory.writer)
        memory.store.supersede(target.id, by.id, now_ms, memory.writer)
    memory.embeddings.wake()


def put_away(memory: LocalMemory, item: Item, now_ms: int) -> None:
    """Take a proposed change that was carried out from every answer: what it changed tells it."""
    if is_change(item):
        memory.store.forget([item.id], now_ms, memory.writer)


def take_back(memory: LocalMemory, item: Item) -> None:
    """Undo what accepting a proposal did to another item, and let a proposed change wait again."""
    change = item.meta.get(PROPOSED_CHANGE)
    if item.review != ACCEPTED or not isinstance(change, Mapping):
        return
    now = memory.clock()
    target = get_item(memory, str(change.get("of")), forgotten=True)
    line = _line_of(memory, item, target, str(change.get("change")))
    if line is not None:
        _undo(memory, target, line, now)
    if is_change(item):
        memory.store.restore([item.id], now, memory.writer)


def _undo(memory: LocalMemory, target: Item, line: Change, now_ms: int) -> None:
    from commonplace.memory.history import as_it_was

    before = line.before
    if line.op == EDIT:
        if target.rev != line.rev + 1:
            raise Conflict(
                f"Item {target.id} was changed again since this was accepted.",
                f"Go back yourself: `commonplace revert {target.id} --rev {line.rev}`.",
            )
        draft = redraft(target, as_it_was(target, before), now_ms)
        said: dict[str, Any] = {name: before.get(name) for name in ("author", "origin", "review")}
        memory.store.rewrite(target.id, replace(draft, **said), now_ms, None, None, memory.writer)
    elif line.op == RESTORE:
        by = before.get("superseded_by")
        if isinstance(by, int):
            memory.store.supersede(target.id, by, now_ms, memory.writer)
        else:
            memory.store.forget([target.id], now_ms, memory.writer)
    else:
        memory.store.restore([target.id], now_ms, memory.writer)


def _line_of(memory: LocalMemory, item: Item, target: Item, op: str) -> Change | None:
    """The change of the target that accepting the item made: both have the same time."""
    accepted = [line.at_ms for line in memory.store.history(item.id) if line.op == "accept"][-1:]
    made = [line for line in memory.store.history(target.id) if line.op == op and [line.at_ms] == accepted]
    return made[-1] if made else None


def _target(memory: LocalMemory, item: Item, change: Mapping[str, Any]) -> Item:
    """The item that a proposal is about; Conflict unless the proposal says what it does, and of which memory."""
    try:
        target = get_item(memory, str(change.get("of")), forgotten=True)
    except NotFound as error:
        raise Conflict(f"What item {item.id} would change is not there any more.", "Dismiss it.") from error
    titles = {target.title, *(line.before.get("title") for line in memory.store.history(target.id))}
    says_it = not is_change(item) or (clean_text(_description(change), "content") == item.body)
    if change.get("change") not in _VERBS or change.get("title") not in titles or not says_it:
        raise Conflict(f"Item {item.id} does not say what it would change.", "Dismiss it.")
    return target


def _propose(memory: LocalMemory, item: Item, change: Mapping[str, Any]) -> Item:
    """The proposal of a change. The same one again is the same proposal, and one that was dismissed stays that."""
    about = checked_meta(_about(item, change))
    now = memory.clock()
    note = NewItem(
        content=_description(about),
        type=CHANGE_TYPE,
        meta={PROPOSED_CHANGE: about},
        project=item.project,
        review=PROPOSED,
        reads_validity=False,
    )
    told = json.dumps([CHANGE_TYPE, about], ensure_ascii=False, sort_keys=True)
    draft = make_draft(note, now, identity=hashlib.sha256(told.encode("utf-8", "replace")).digest())
    (stored,) = memory.store.put([sign(memory, draft)], now)
    memory.embeddings.wake()
    proposal = get_item(memory, stored.id, forgotten=True)
    if proposal.forgotten_ms is not None and proposal.review != DISMISSED:
        # It was accepted or withdrawn before, and is proposed anew.
        memory.store.restore([proposal.id], now, memory.writer)
        memory.store.review([proposal.id], PROPOSED, now, memory.writer)
        proposal = get_item(memory, proposal.id)
    return proposal


def _about(item: Item, change: Mapping[str, Any]) -> dict[str, Any]:
    return {"of": item.uid, "what": item.type, "title": item.title, **change}


def is_change(item: Item) -> bool:
    """Whether an item is nothing but a proposed change of another one."""
    return item.type == CHANGE_TYPE and PROPOSED_CHANGE in item.meta


def _fields(change: Mapping[str, Any]) -> dict[str, Any]:
    """The new values of an edit, as a new item has them."""
    new = change.get("to")
    return {name: new[name] for name in _CHANGED if name in new} if isinstance(new, Mapping) else {}


def _description(change: Mapping[str, Any]) -> str:
    """A proposed change in words, made of nothing else than the change: what is read is what is done."""
    what, of = change.get("change"), str(change.get("of"))[-12:]
    lines = [f"{_VERBS.get(str(what), 'Change')} {change.get('what')} {of}: {change.get('title')}"]
    if what == SUPERSEDE:
        lines.append(f"by {str(change.get('by'))[-12:]}: {change.get('by_title')}")
    lines += [f"{name.removesuffix('_ms')}: {_spelled(name, value)}" for name, value in _fields(change).items()]
    return "\n".join(lines)


def _spelled(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if name in VALIDITY_FIELDS and isinstance(value, int):
        return short_iso_time(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
