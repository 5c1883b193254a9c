"""Remember: a draft, whether it is there already, what it contradicts, and then it is stored, once.

Contradictions are earlier rules, decisions and facts that a new one opposes or replaces: a hint, not a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace.errors import StoreReplaced
from commonplace.memory.authors import sign
from commonplace.memory.contradictions import Compared, Contradiction, compare_statement, find_contradictions
from commonplace.memory.draft import NewItem as NewItem
from commonplace.memory.draft import make_draft
from commonplace.memory.edit_and_forget import enrich_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import check_reserved, is_person
from commonplace.memory.proposed_changes import is_only_proposed, propose_restoring
from commonplace.memory.review import accept
from commonplace.model import DISMISSED, PROPOSED, Draft, Item, Scope, Stored
from commonplace.text.plain_form import plain_form
from commonplace.text.sentences import title_of

# Statements of so few characters are compared in their plain form, with so many that have the same letters.
MAX_STATEMENT, SAME_STATEMENTS = 500, 10


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a new item: as it was stored, whether it was known, and what it may contradict or replace.

    `twins` say the same in other words.
    """

    item: Item
    duplicate: bool
    contradictions: tuple[Contradiction, ...] = ()
    twins: tuple[Item, ...] = ()


def remember_item(memory: LocalMemory, new: NewItem) -> Remembered:
    """Remember one thing as every door does it: the same again gets the tags and metadata that are new.

    What its author said before in other words is linked with it.
    """
    check_reserved(memory, new.tags, new.meta)
    now = memory.clock()
    draft = sign(memory, make_draft(new, now))
    same, compared = memory.store.snapshot(lambda: _compare(memory, draft))
    if same is not None:
        return _say_again(memory, new, draft, same)
    found = compared.metadata(draft, memory.writer.name)
    (stored,) = memory.store.put([replace(draft, meta={**draft.meta, **found})], now)
    memory.embeddings.wake()
    item = written_item(memory, stored)
    if stored.duplicate:
        return _say_again(memory, new, draft, item)
    return Remembered(item, False, compared.contradictions, compared.twins)


def _compare(memory: LocalMemory, draft: Draft) -> tuple[Item | None, Compared]:
    """The statement that a draft repeats, or else what it contradicts."""
    alike = same_statements(memory, draft, (draft.type,))
    if any(item.content_hash == draft.content_hash for item in alike):
        # The very same, which the store finds again.
        return None, Compared()
    if alike and all(item.body.strip() != draft.body.strip() for item in alike):
        return alike[0], Compared()
    return None, compare_statement(memory, draft)


def same_statements(memory: LocalMemory, draft: Draft, types: tuple[str, ...] = ()) -> list[Item]:
    """The memories of these types, or of any, that state the same in the same place.

    A statement is the same with other punctuation, another spacing, or without its capital letters.
    """
    text = draft.body.strip()
    is_statement = draft.kind == "memory" and draft.uid is None and draft.title == title_of(draft.body)
    if not is_statement or not 0 < len(text) <= MAX_STATEMENT:
        return []
    place = Scope.inside(draft.project, kinds=("memory",), types=types)
    found = memory.store.statements_like(text, replace(place, lapsed=True), SAME_STATEMENTS)
    wanted, details = plain_form(text), _said(draft)
    return [item for item in found if plain_form(item.body) == wanted and _said(item) == details]


def _said(written: Draft | Item) -> dict[str, str]:
    """The fields of its kind that say something."""
    return {name: value for name, value in written.details.items() if value}


def _say_again(memory: LocalMemory, new: NewItem, draft: Draft, item: Item) -> Remembered:
    """Add what is new to an item that says the same already; ask a person to bring back what was taken away."""
    if item.forgotten_ms is not None or item.superseded_by is not None:
        # It was proposed again after it was dismissed, or taken back by somebody who may not be overruled.
        proposed = item if item.review == DISMISSED else propose_restoring(memory, item)
        return Remembered(proposed, duplicate=True)
    validity = (draft.valid_from_ms, draft.valid_until_ms, draft.expires_ms)
    enriched = enrich_item(memory, item, new.tags, new.meta, validity)
    if enriched.id != item.id and is_only_proposed(enriched):
        # The caller is told that what was added only waits.
        return Remembered(enriched, duplicate=True)
    item = enriched
    if item.review == PROPOSED and new.review is None and is_person(memory):
        # What a person says themselves they agree with, in other capitals too.
        accept(memory, [item.id])
        item = get_item(memory, item.id)
    return Remembered(item, True, tuple(find_contradictions(memory, item)))


def written_item(memory: LocalMemory, stored: Stored) -> Item:
    """What was just stored, read again: refused if another file has come into its place meanwhile."""
    item = memory.store.get([stored.id]).get(stored.id)
    if item is None or item.uid != stored.uid:
        raise StoreReplaced(
            "The database file was replaced while this was being stored.",
            "Search for it, and store it again if it is not there.",
        )
    return item


def remember(memory: LocalMemory, note: NewItem) -> Stored:
    """Store one thing, compared with nothing else. The same again in the same place is found instead of repeated."""
    check_reserved(memory, note.tags, note.meta)
    now = memory.clock()
    draft = make_draft(note, now)
    alike = same_statements(memory, draft, (draft.type,))
    if alike and all(item.body.strip() != draft.body.strip() for item in alike):
        return Stored(alike[0].id, alike[0].uid, duplicate=True)
    return _put(memory, [draft], now)[0]


def remember_all(memory: LocalMemory, notes: Sequence[NewItem]) -> list[Stored]:
    """Store several things in one transaction: all of them, or, if one is wrong, none."""
    for note in notes:
        check_reserved(memory, note.tags, note.meta)
    now = memory.clock()
    return _put(memory, [make_draft(note, now) for note in notes], now)


def _put(memory: LocalMemory, drafts: Sequence[Draft], now: int) -> list[Stored]:
    stored = memory.store.put([sign(memory, draft) for draft in drafts], now)
    memory.embeddings.wake()
    return stored
