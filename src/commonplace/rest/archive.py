"""Everything of a space over HTTP, as the zip that `POST /api/v1/import` takes in."""

from __future__ import annotations

from commonplace.errors import Forbidden
from commonplace.memory.archive import Archive
from commonplace.memory.book import Book
from commonplace.rest.endpoint import Answer, Asked

MEDIA = "application/zip"
_NAMED = {"Content-Disposition": 'attachment; filename="memory.zip"', "Cache-Control": "no-store"}


def archive(book: Book, asked: Asked[None, None]) -> Answer:
    """All that the space remembers, with its history. One that breaks off cannot be taken for whole."""
    if asked.key is not None and asked.key.project is not None:
        raise Forbidden(
            f"This key is for the project {asked.key.project} only.", "Use a key of scope admin for the whole space."
        )
    pieces = Archive(book).zipped()
    return Answer(headers=_NAMED, stream=lambda: asked.pieces(lambda: next(pieces, b"")))
