"""Edit: change what is remembered; what it was stays in its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from commonplace.errors import InvalidInput
from commonplace.memory.book import Book
from commonplace.memory.fetch import fetch_one
from commonplace.memory.remember import Note, note_of, redraft, rewrite
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
    note = _changed(old, changes)
    if supersedes is None and expect_rev in (None, old.rev) and _says_the_same(book, old, note):
        return old
    replaced = None if supersedes is None else replaceable(book, supersedes, old).id
    return rewrite(book, old, note, expect_rev, replaced)


def _says_the_same(book: Book, old: Item, note: Note) -> bool:
    """Whether nothing would change, so that the item keeps its revision."""
    new = redraft(old, note, book.clock())
    project = None if new.project is None else book.store.find_project(new.project)
    same = all(getattr(new, name) == getattr(old, name) for name in ("type", "title", "body", "importance"))
    return (
        same
        and project == old.project
        and set(new.tags) == set(old.tags)
        and dict(new.details) == dict(old.details)
        and dict(new.meta) == dict(old.meta)
    )


def _changed(old: Item, changes: Changes) -> Note:
    new: dict[str, Any] = {field.name: getattr(changes, field.name) for field in fields(changes)}
    new = {name: value for name, value in new.items() if value is not None}
    if changes.details is not None:
        new["details"] = {**old.details, **changes.details}
    # A title that was taken from the text follows the text.
    if changes.content is not None and old.kind == "memory" and old.body.startswith(old.title.rstrip("…")):
        new.setdefault("title", "")
    return replace(note_of(old), **new)
