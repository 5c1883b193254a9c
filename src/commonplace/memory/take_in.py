"""Take in: things that another product remembered, each known by the identity it brings, so that none comes twice.

What was forgotten or changed here since it came in stays as it is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace.errors import Conflict, NotFound
from commonplace.identity import ref
from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import Note, draft_of, rewrite
from commonplace.memory.supersede import supersede
from commonplace.model import Draft, Item

SAID = "source_said"
"""The metadata that tells what the source said when it was last looked at, to know what changed there or here."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A thing to take in; its note has a uid. One that was `forgotten` where it comes from is forgotten here too."""

    note: Note
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Replaced:
    """One thing, by its uid, that another one took the place of."""

    old: str
    new: str


def take_in(book: Book, arrivals: Sequence[Arrival]) -> list[bool]:
    """Keep what is new and follow what changed at its source; for each whether it was one of these."""
    now = book.clock()
    drafts = [_marked(draft_of(arrival.note, now)) for arrival in arrivals]
    known = _known(book, drafts)
    fresh = [draft for draft in drafts if draft.uid not in known]
    stored = {draft.uid: kept for draft, kept in zip(fresh, book.store.put(fresh, now), strict=True)}
    book.meaning.wake()
    took, gone = [], []
    for arrival, draft in zip(arrivals, drafts, strict=True):
        item = known.get(draft.uid)
        if item is not None:
            took.append(_follow(book, item, arrival.note, draft))
            if arrival.forgotten and _untouched(book, item):
                gone.append(item.id)
        else:
            took.append(not stored[draft.uid].duplicate)
            # Where the same is remembered for another reason, that reason holds.
            if arrival.forgotten and took[-1]:
                gone.append(stored[draft.uid].id)
    if gone:
        book.store.forget(gone, now)
    return took


def take_place(book: Book, replaced: Replaced) -> str:
    """Mark one as replaced by the other, once; why not, where it cannot be."""
    try:
        old = fetch_one(book, replaced.old, forgotten=True)
        if _untouched(book, old):
            supersede(book, old.id, replaced.new)
    except (NotFound, Conflict) as error:
        return error.message
    return ""


def _known(book: Book, drafts: Sequence[Draft]) -> dict[str | None, Item]:
    uids = [draft.uid for draft in drafts if draft.uid is not None]
    numbers = book.store.resolve([ref(uid) for uid in uids])
    items = book.store.get([number for number in numbers if number is not None])
    return {uid: items[number] for uid, number in zip(uids, numbers, strict=True) if number in items}


def _marked(draft: Draft) -> Draft:
    return replace(draft, meta={**draft.meta, SAID: _said(draft)})


def _said(told: Draft | Item) -> str:
    return told.content_hash.hex()[:16]


def _follow(book: Book, item: Item, note: Note, draft: Draft) -> bool:
    """Let an item say what its source says by now, unless somebody had a hand in it here.

    What the source does not mention stays: an export tells less than a database.
    """
    before = item.meta.get(SAID)
    if before == _said(draft) or before != _said(item) or not _live(item):
        return False
    more = replace(
        note,
        details={**item.details, **draft.details},
        tags=tuple(dict.fromkeys((*item.tags, *draft.tags))),
        project=item.project,
        session=draft.session or item.session,
    )
    said = _marked(draft_of(more, book.clock()))
    if _said(said) == before:
        return False
    rewrite(book, item, replace(more, meta={**item.meta, **said.meta}))
    return True


def _live(item: Item) -> bool:
    return item.forgotten_ms is None and item.superseded_by is None


def _untouched(book: Book, item: Item) -> bool:
    """Whether it is live and nobody ever brought it back."""
    return _live(item) and all(change.op != "restore" for change in book.store.history(item.id))
