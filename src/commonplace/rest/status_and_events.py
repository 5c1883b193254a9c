"""The state of the memory over HTTP: its status, statistics, rebuilding its vectors, and events as they happen.

A stream of events ends with the key or the visit that opened it. Before events are sent the key is looked up again,
after they were read: what happened after it was revoked is not sent.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, Literal, TypedDict, cast

from pydantic import Field

from commonplace.dialects.reply_schema import Json, component
from commonplace.dialects.sekha_records import Statistics, statistics
from commonplace.errors import CommonplaceError
from commonplace.memory.check_and_repair import queue_all_embeddings
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.spaces import is_server_admin
from commonplace.memory.status_and_stats import stats_for_scope
from commonplace.memory.status_and_stats import status as status_of
from commonplace.memory.timeline import Event, events_since
from commonplace.model import SessionScope
from commonplace.rest import fields
from commonplace.rest.endpoint import RECHECK_SECONDS, Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.search import Labels
from commonplace.text.dates import DAY_MS, iso_time, parse_time
from commonplace.text.paths import normalise_folder
from commonplace.text.redact import redact

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


class KeyInUse(TypedDict):
    """The key of this request: whose it is, and what it may do."""

    name: str
    role: str
    project: str | None


@component("Status")
class StatusReply(TypedDict):
    """Counts, engine and model."""

    version: str
    space: str
    store: dict[str, Any]
    counts: dict[str, Any]
    total: int
    pending: int
    model: dict[str, Any]
    search: str
    key: KeyInUse | None


class StatisticsData(Statistics):
    """How much there is."""

    total_tokens: Annotated[int, Json(description="Estimated: four bytes each.")]


@component("Statistics")
class StatisticsReply(StatisticsData):
    """How much there is: flat, and once more under `data`, because some clients read the one, some the other."""

    success: Literal[True]
    data: dict[str, Any]


class RebuildReply(TypedDict):
    """How many vectors will be made again."""

    success: bool
    status: str
    queued: int
    model: str
    message: str


def read_status(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[StatusReply]:
    """Counts, engine, model, and what still waits; to those who look after the server also where the store is."""
    key = request.key
    named = None if key is None else KeyInUse(name=key.name, role=key.role, project=key.project)
    said = status_of(memory, show_paths=is_server_admin(memory, key))
    return Answer(cast(StatusReply, {**said, "key": named}))


def read_statistics(memory: LocalMemory, request: ApiRequest[Counted, None]) -> Answer[StatisticsReply]:
    """How many conversations, messages and words there are, by folder, label and status."""
    return Answer(statistics_data(memory, CountedFilters(folder=request.query.folder, label=request.query.label)))


def statistics_by_body(memory: LocalMemory, request: ApiRequest[None, Filtered]) -> Answer[StatisticsReply]:
    """The same, asked by a body."""
    return Answer(statistics_data(memory, request.body.filters or CountedFilters()))


def statistics_data(memory: LocalMemory, wanted: CountedFilters) -> StatisticsReply:
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
    data: StatisticsData = {**statistics(found), "total_tokens": -(-found.counts.bytes // 4)}
    return {**data, "success": True, "data": {**data}}


def _end_of(text: str) -> int:
    """The first millisecond after a time, or after a day."""
    return parse_time(text, local=False) + (DAY_MS if len(text) == _DAY_LETTERS else 1)


def rebuild_embeddings(memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer[RebuildReply]:
    """Queue every vector to be made again. Searching goes on with the old ones meanwhile."""
    queued = queue_all_embeddings(memory)
    return Answer(
        {
            "success": True,
            "status": "started",
            "queued": queued,
            "model": memory.embeddings.state,
            "message": f"{queued} passages are waiting for their vectors; GET /api/v1/status says how many are left.",
        },
        status=202,
    )


LOOK_SECONDS = 0.5
# So often a quiet stream says that it is alive: proxies close those that are silent for long.
HEARTBEAT_SECONDS = 15.0
RETRY = b"retry: 2000\n\n"
ALIVE = b": alive\n\n"


class Followed(Strict):
    """How long to listen."""

    follow: bool = Field(True, description="false: what happened since Last-Event-ID, and then the end.")


def events(memory: LocalMemory, request: ApiRequest[Followed, None]) -> Answer[None]:
    """Tell what happens from now on, or since the event that Last-Event-ID names."""
    after = request.headers.get("last-event-id") or None
    first, mark = events_since(memory, after)
    request.recheck()
    return Answer(
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        stream=lambda: _event_stream(memory, request, first, mark, behind=mark != after),
    )


async def _event_stream(
    memory: LocalMemory, request: ApiRequest[Followed, None], first: Sequence[Event], mark: str, *, behind: bool
) -> AsyncIterator[bytes]:
    server = request.server
    # The mark alone, so that whoever is cut off before anything happened knows where to go on.
    yield RETRY + (_lines(first) or f"id: {mark}\n\n".encode())
    quiet = unchecked = 0.0
    while (request.query.follow or behind) and not server.ending():
        if not behind:
            await asyncio.sleep(LOOK_SECONDS)
            quiet += LOOK_SECONDS
            unchecked += LOOK_SECONDS
        check = unchecked >= RECHECK_SECONDS
        try:
            found, now = await server.workers.do(
                functools.partial(_news, memory, mark, request.recheck, check), request.caller
            )
        except CommonplaceError:
            # Whoever listens comes back, and goes on after the last event if the key still works.
            return
        if check:
            unchecked = 0.0
        # What happened may all be of other projects, and more of ours after it.
        behind, mark = now != mark, now
        if found:
            quiet = 0.0
            yield _lines(found)
        elif quiet >= HEARTBEAT_SECONDS:
            quiet = 0.0
            yield ALIVE


def _news(memory: LocalMemory, mark: str, recheck: Callable[[], None], check: bool) -> tuple[Sequence[Event], str]:
    """What happened after a mark. Unauthorized if the key works no more, before anything is sent."""
    found, now = events_since(memory, mark)
    if found or check:
        recheck()
    return found, now


def _lines(found: Sequence[Event]) -> bytes:
    return b"".join(f"id: {one.mark}\nevent: {one.what}\ndata: {_data(one)}\n\n".encode() for one in found)


def _data(one: Event) -> str:
    data = {
        "event": one.what,
        "at": iso_time(one.at_ms),
        "author": one.author,
        "id": one.id,
        "uid": one.uid,
        "short_id": one.uid[-12:],
        "kind": one.kind,
        "type": one.type,
        "title": redact(one.title),
        "project": one.project,
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
