"""Remember: validate, clean, redact, hash and split new items, then store each once, and say what it contradicts.

Contradictions are earlier rules, decisions and facts that a new one opposes or replaces: a hint, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.errors import StoreReplaced
from commonplace.memory.authors import sign
from commonplace.memory.contradictions import Compared, Contradiction, compare_statement, find_contradictions
from commonplace.memory.draft import DEFAULT_TYPE, make_draft
from commonplace.memory.draft import NewItem as NewItem
from commonplace.memory.edit_and_forget import enrich_item
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.permissions import check_reserved, is_person
from commonplace.memory.proposed_changes import is_only_proposed, propose_restoring
from commonplace.memory.review import accept
from commonplace.model import DISMISSED, PROPOSED, Draft, Item, Scope, Stored
from commonplace.store.rows import QUERY_COLUMNS
from commonplace.text.query import parse_query

# Statements of so few characters are compared in their plain form, with so many that hold the same words.
MAX_STATEMENT, SAME_STATEMENTS = 500, 10

# A word that is written with a capital letter because of where it stands or what it is, such as Fridays.
_CAPITAL = re.compile(r"\b[A-Z][a-z]+\b")
# Marks between words; a question mark tells a question from a statement.
_PUNCTUATION = re.compile(
    r"(?<![.,;:!\"'“”„’)\]])[.,;:!\"'“”„’)\]]++(?=\s|$)|(?:(?<=\s)|^)[\"'“”„(\[]+|(?<=\s)[–—-]+(?=\s)"
)


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
    draft = make_draft(new, now)

    def compare() -> tuple[Item | None, Compared]:
        known = _find_same_statement(memory, new, draft)
        return known, Compared() if known is not None else compare_statement(memory, sign(memory, draft))

    known, compared = memory.store.snapshot(compare)
    if known is None:
        found = compared.metadata(draft, memory.writer.name)
        stored = _put(memory, [replace(draft, meta={**draft.meta, **found}) if found else draft], now)[0]
    else:
        stored = Stored(known.id, known.uid, duplicate=True)
    item = written_item(memory, stored)
    if item.forgotten_ms is not None or item.superseded_by is not None:
        # It was proposed again after it was dismissed, or taken back by somebody who may not be overruled.
        proposed = item if item.review == DISMISSED else propose_restoring(memory, item)
        return Remembered(proposed, duplicate=True)
    if not stored.duplicate:
        return Remembered(item, False, compared.contradictions, compared.twins)
    validity = (draft.valid_from_ms, draft.valid_until_ms, draft.expires_ms)
    enriched = enrich_item(memory, item, new.tags, new.meta, validity)
    # A proposed statement that says what it replaces is the item itself.
    if enriched.id == item.id or not is_only_proposed(enriched):
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
    """Store one thing. Saying the same again in the same place finds it instead of repeating it.

    A statement is the same with other punctuation, another spacing, or without its capital letters.
    """
    check_reserved(memory, note.tags, note.meta)
    now = memory.clock()
    draft = make_draft(note, now)
    known = memory.store.snapshot(lambda: _find_same_statement(memory, note, draft))
    return _put(memory, [draft], now)[0] if known is None else Stored(known.id, known.uid, duplicate=True)


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


def _find_same_statement(memory: LocalMemory, note: NewItem, draft: Draft) -> Item | None:
    """The statement that this one repeats with other capitals, another spacing or other punctuation.

    None if it is the very same, which the store itself knows.
    """
    alike = same_statements(memory, note, (note.type or DEFAULT_TYPE[note.kind],), draft)
    return None if any(item.body.strip() == note.content.strip() for item in alike) else next(iter(alike), None)


def same_statements(
    memory: LocalMemory, note: NewItem, types: tuple[str, ...] = (), draft: Draft | None = None
) -> list[Item]:
    """The memories of these types, or of any, that state the same in the same place.

    `draft` is the note as it will be stored, if somebody has made that already.
    """
    text = note.content.strip()
    if note.kind != "memory" or note.title or note.uid is not None or not 0 < len(text) <= MAX_STATEMENT:
        return []
    draft = draft or make_draft(note, memory.clock())
    # As one phrase, which holds whatever the case and the marks between the words.
    query = parse_query('"' + draft.body.replace('"', " ") + '"', QUERY_COLUMNS)
    if not query.strict:
        return []
    scope = replace(Scope.inside(draft.project, kinds=("memory",), types=types), lapsed=True)
    hits = memory.store.search_text(query, scope, SAME_STATEMENTS, count=False).hits
    found = memory.store.get(hit.item_id for hit in hits).values()
    return [item for item in found if _plain_form(item) == _plain_form(draft)]


def _plain_form(written: Draft | Item) -> tuple[str, Mapping[str, str]]:
    """A statement without spacing and punctuation, ordinary words in lower case, but not userId and C++."""
    text = " ".join(_PUNCTUATION.sub("", written.body).split())
    fields = {name: value for name, value in written.details.items() if value}
    return _CAPITAL.sub(lambda word: word[0].lower(), text), fields
