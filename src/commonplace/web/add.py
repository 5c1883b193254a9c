"""Add: something to remember, written by hand."""

from __future__ import annotations

from commonplace.errors import CommonplaceError
from commonplace.memory.book import Book
from commonplace.memory.remember import Note, remember
from commonplace.web.item import choices
from commonplace.web.item_changes import importance_of, tags_of
from commonplace.web.page import Asked, Gone, Reply, Shown

_FIELDS = ("title", "content", "type", "project", "tags", "importance")


def form(book: Book, asked: Asked) -> Shown:
    """An empty form; a link may fill in some of it."""
    written = {name: asked.one(name) for name in _FIELDS}
    return Shown("add", {"written": written | {"type": written["type"] or "note"}, "wrong": None, **choices(book)})


def add(book: Book, asked: Asked) -> Reply:
    """Keep what was written; what cannot be kept stays in the form."""
    written = {name: asked.given(name).replace("\r\n", "\n") for name in _FIELDS}
    try:
        note = Note(
            written["content"],
            type=written["type"].strip(),
            title=written["title"].strip(),
            project=written["project"].strip() or None,
            tags=tags_of(written["tags"]),
            importance=importance_of(written["importance"]),
        )
        stored = remember(book, note)
    except CommonplaceError as error:
        return Shown("add", {"written": written, "wrong": error, **choices(book)}, error.http_status)
    return Gone(f"/items/{stored.uid[-12:]}", "known" if stored.duplicate else "added")
