"""Figures over HTTP: how much was said, and having every vector made again."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from commonplace.dialects.sekha_records import statistics
from commonplace.memory.book import Book
from commonplace.memory.rebuild import rebuild
from commonplace.memory.stats import stats
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict
from commonplace.rest.queries import Labels


class Counted(Strict):
    """What is counted; everything if nothing is named."""

    folder: fields.Folder | None = Field(default=None, description="Only this folder and all below it.")
    label: fields.Label | None = None


class CountedFilters(Counted):
    """The same, where several labels may be named."""

    labels: Labels | None = None


class Filtered(Strict):
    """What is counted, in a body."""

    filters: CountedFilters | None = None


def figures(book: Book, asked: Asked[Counted, None]) -> Answer:
    """How many conversations, messages and words there are, by folder, label and status."""
    return Answer(counted(book, asked.query))


def figures_by_body(book: Book, asked: Asked[None, Filtered]) -> Answer:
    """The same, asked by a body."""
    filters = asked.body.filters or CountedFilters()
    return Answer(counted(book, filters, filters.labels))


def counted(book: Book, wanted: Counted, labels: list[str] | None = None) -> dict[str, Any]:
    """Flat, and once more under `data`: some clients read the one, some the other."""
    named = [*(labels or ()), *([wanted.label] if wanted.label else ())]
    found = stats(book, wanted.folder, named)
    data = statistics(found) | {"total_tokens": -(-found.counts.bytes // 4)}
    return data | {"success": True, "data": data}


def rebuild_embeddings(book: Book, _asked: Asked[None, None]) -> Answer:
    """Queue every vector to be made again. Searching goes on with the old ones meanwhile."""
    queued = rebuild(book)
    return Answer(
        {
            "success": True,
            "status": "started",
            "queued": queued,
            "model": book.meaning.state,
            "message": f"{queued} passages wait for their vectors; GET /api/v1/status tells how many still do.",
        },
        status=202,
    )
