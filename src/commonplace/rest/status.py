"""Figures over HTTP: how much was said, and having every vector made again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from commonplace.dialects.sekha_records import statistics
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.repair import queue_all_embeddings
from commonplace.memory.stats import stats_for_scope
from commonplace.model import SessionScope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.queries import Labels
from commonplace.text.dates import DAY_MS, parse_time
from commonplace.text.paths import normalise_folder

_DAY_LETTERS = len("2026-02-13")


class Counted(Strict):
    """What is counted; everything if nothing is named."""

    folder: fields.Folder | None = Field(default=None, description="Only this folder and all below it.")
    label: fields.Label | None = None


class CountedFilters(Counted):
    """The same, where several labels and folders, and a time, may be named."""

    labels: Labels | None = Field(default=None, description="With one of these labels.")
    folders: Annotated[list[fields.Folder], Field(max_length=100)] | None = Field(
        default=None, description="In one of these folders, or below it."
    )
    start_date: fields.Timestamp | None = Field(
        default=None, description="Only what was still going on then, or later."
    )
    end_date: fields.Timestamp | None = Field(
        default=None, description="Only what began up to then, a day with all of it."
    )


class Filtered(Strict):
    """What is counted, in a body."""

    filters: CountedFilters | None = None


def read_statistics(memory: LocalMemory, request: ApiRequest[Counted, None]) -> Answer:
    """How many conversations, messages and words there are, by folder, label and status."""
    return Answer(statistics_data(memory, CountedFilters(folder=request.query.folder, label=request.query.label)))


def statistics_by_body(memory: LocalMemory, request: ApiRequest[None, Filtered]) -> Answer:
    """The same, asked by a body."""
    return Answer(statistics_data(memory, request.body.filters or CountedFilters()))


def statistics_data(memory: LocalMemory, wanted: CountedFilters) -> dict[str, Any]:
    """Flat, and once more under `data`: some clients read the one, some the other."""
    found = stats_for_scope(
        memory,
        SessionScope(
            folder=normalise_folder(wanted.folder) if wanted.folder else "",
            labels=(*(wanted.labels or ()), *([wanted.label] if wanted.label else ())),
            folders=tuple(map(normalise_folder, wanted.folders or ())),
            since_ms=None if wanted.start_date is None else parse_time(wanted.start_date, local=False),
            until_ms=None if wanted.end_date is None else _end_of(wanted.end_date),
        ),
    )
    data = statistics(found) | {"total_tokens": -(-found.counts.bytes // 4)}
    return data | {"success": True, "data": data}


def _end_of(text: str) -> int:
    """The first millisecond after a moment, or after a day."""
    return parse_time(text, local=False) + (DAY_MS if len(text) == _DAY_LETTERS else 1)


def rebuild_embeddings(memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer:
    """Queue every vector to be made again. Searching goes on with the old ones meanwhile."""
    queued = queue_all_embeddings(memory)
    return Answer(
        {
            "success": True,
            "status": "started",
            "queued": queued,
            "model": memory.embeddings.state,
            "message": f"{queued} passages wait for their vectors; GET /api/v1/status tells how many still do.",
        },
        status=202,
    )
