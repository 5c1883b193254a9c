"""Enrich: what is said again may bring tags and metadata that it did not have the first time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.memory.book import Book
from commonplace.memory.edit import Changes, edit
from commonplace.model import Item


def enrich(book: Book, item: Item, tags: Sequence[str] = (), meta: Mapping[str, object] | None = None) -> Item:
    """Add tags and metadata to an item. Nothing it has is lost; a metadata key said anew takes its new value."""
    more_tags = [tag for tag in tags if " ".join(tag.split()) not in item.tags]
    merged = {**item.meta, **(meta or {})}
    if not more_tags and merged == item.meta:
        return item
    return edit(book, item.id, Changes(tags=[*item.tags, *more_tags], meta=merged))
