"""Revert: bring back what an item said before a change; that is a change too, and can be reverted in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import note_of, rewrite
from commonplace.model import Item


def revert(book: Book, id_: int | str, rev: int | None = None) -> Item:
    """Rewrite an item as it was at revision `rev`, by default before its last change of content."""
    item = fetch_one(book, id_)
    known = {change.rev: change for change in book.store.history(item.id)}
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
    return rewrite(book, item, replace(note_of(item), content=before["body"], **was))
