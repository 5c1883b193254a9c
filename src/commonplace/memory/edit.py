"""Edit: change what is remembered; what it was stays in its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import Note, draft_of, is_dated
from commonplace.memory.supersede import replaceable, supersede
from commonplace.model import Item


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


def edit(
    book: Book, id_: int | str, changes: Changes, expect_rev: int | None = None, supersedes: int | str | None = None
) -> Item:
    """Rewrite an item, and mark the one it `supersedes`: both or neither.

    With `expect_rev` the change is refused if someone else was quicker.
    """
    if changes == Changes():
        if supersedes is None:
            raise InvalidInput("Nothing to change.", "Give at least one field besides the id.")
        return supersede(book, supersedes, by=id_)[1]
    old = fetch_one(book, id_)
    replaced = None if supersedes is None else replaceable(book, supersedes, old).id
    now = book.clock()
    follows = old.kind == "memory" and changes.content is not None and old.body.startswith(old.title.rstrip("…"))
    note = Note(
        content=old.body if changes.content is None else changes.content,
        kind=old.kind,
        type=old.type if changes.type is None else changes.type,
        title=changes.title if changes.title is not None else "" if follows else old.title,
        details=old.details if changes.details is None else {**old.details, **changes.details},
        meta=old.meta if changes.meta is None else changes.meta,
        project=old.project if changes.project is None else changes.project,
        session=old.session,
        tags=old.tags if changes.tags is None else changes.tags,
        importance=old.importance if changes.importance is None else changes.importance,
        created_ms=old.created_ms,
        uid=old.uid,
    )
    item = book.store.rewrite(old.id, draft_of(note, now, dated=is_dated(old)), now, expect_rev, replaced)
    book.meaning.wake()
    return item
