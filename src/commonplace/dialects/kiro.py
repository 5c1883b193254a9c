"""Kiro Memory's tools for observations, summaries and timelines; get_context.py has the context of a project.

Everything that happened or was stated is an observation here, whichever dialect wrote it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NotRequired, TypedDict, TypeVar, cast

from commonplace.dialects.records import source_fields
from commonplace.dialects.tool import IdNumber, Param, Reply, Tool, compact_json, search_notice
from commonplace.dialects.window_project import (
    NO_PROJECT,
    WhichProject,
    named_scope,
    scope_notice,
    window_scope,
)
from commonplace.errors import InvalidInput
from commonplace.memory.items import get_item, get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import unknown_project
from commonplace.memory.recall import is_stale, note_on, recall_scopes, record_use
from commonplace.memory.timeline import EVENT_KINDS, TimelineEntry, timeline
from commonplace.model import PROPOSED, Item, Scope
from commonplace.text.dates import iso_time
from commonplace.text.project_names import base_name
from commonplace.text.redact import redact_data
from commonplace.text.sentences import shorten, truncate
from commonplace.text.validity import parse_as_of

_Record = TypeVar("_Record", bound=Mapping[str, Any])

MAX_LIMIT = 50
# A search result is for choosing; what is longer is had in full by its id.
LONGEST_FOUND = 4_000
LONGEST_NARRATIVE = 300


class Observation(TypedDict):
    """The fifteen fields of the reference. A field that an item does not have is null."""

    id: int
    type: str
    title: str
    subtitle: str | None
    text: str | None
    narrative: str | None
    facts: str | None
    concepts: str | None
    files_read: str | None
    files_modified: str | None
    project: str
    created_at: str
    created_at_epoch: int
    is_stale: int
    discovery_tokens: int


class FullObservation(Observation):
    """A whole record, with what the other dialects know of it."""

    uid: str
    kind: str
    session_id: str | None
    tags: list[str]
    author: NotRequired[str]
    origin: NotRequired[str]
    review: NotRequired[str]
    # Only where something is damaged, so that whole items are as the reference says.
    damaged: NotRequired[list[str]]


class Summary(TypedDict):
    """What a session did, as its last words say."""

    id: int
    session_id: str
    project: str
    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None
    created_at: str
    created_at_epoch: int
    source: NotRequired[str]


class TimelineRow(TypedDict):
    """A line of a timeline: what it was and where it stands, not all that it says."""

    id: int
    type: str
    title: str
    subtitle: str | None
    narrative: str | None
    project: str
    created_at: str
    created_at_epoch: int
    position: int


class FoundObservation(Observation):
    """A hit: the fields of the reference, and how likely it answers, from 0 to 1. A proposal also says whose it is."""

    score: float
    author: NotRequired[str]
    origin: NotRequired[str]
    review: NotRequired[str]


class FoundSummary(Summary):
    """A hit, and how likely it answers, from 0 to 1."""

    score: float


class SearchReply(TypedDict):
    """What answers a query."""

    observations: list[FoundObservation]
    summaries: list[FoundSummary]
    notice: NotRequired[str]


class TimelineReply(TypedDict):
    """What happened around an observation."""

    timeline: list[TimelineRow]


class ObservationsReply(TypedDict):
    """Full records, and the ids that nothing answers to."""

    observations: list[FullObservation]
    missing: list[int | str]


def search(
    memory: LocalMemory,
    query: Annotated[str, Param("What to look for")],
    project: Annotated[str | None, Param("Only this project; all projects if omitted")] = None,
    limit: Annotated[int, Param("Most results per category, 1-50", least=1, most=MAX_LIMIT)] = 10,
    as_of: Annotated[str | None, Param("What was believed then", listed=False)] = None,
) -> Reply[SearchReply]:
    """Observations and summaries that answer a query, each up to the limit."""
    return _search(memory, query, named_scope(project), limit, as_of)


def search_from_window(
    memory: LocalMemory,
    query: Annotated[str, Param("What to look for")],
    project: WhichProject = None,
    limit: Annotated[int, Param("Most results per category, 1-50", least=1, most=MAX_LIMIT)] = 10,
    as_of: Annotated[str | None, Param("What was believed then", listed=False)] = None,
    *,
    strict: bool = False,
) -> Reply[SearchReply]:
    """The same, from the window's project if none is named."""
    scope, remark = window_scope(memory, project, strict=strict), scope_notice(memory, project, strict=strict)
    return _search(memory, query, scope, limit, as_of, remark)


def _search(
    memory: LocalMemory, query: str, scope: Scope, limit: int, as_of: str | None, remark: str = ""
) -> Reply[SearchReply]:
    if not query.strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    where = replace(scope, at_ms=parse_as_of(as_of, memory.clock()) if as_of else None)
    events, summaries = recall_scopes(
        memory, query, [replace(where, kinds=EVENT_KINDS), replace(where, kinds=("summary",))], [limit, limit]
    )
    data: SearchReply = {
        "observations": [found_observation(hit.item, hit.relevance) for hit in events.hits],
        "summaries": [
            {**cut_long_texts(summary(hit.item)), "score": round(hit.relevance, 4)} for hit in summaries.hits
        ],
    }
    nothing = not events.hits and not summaries.hits
    # A window's project may be new; one that was named and is not there is a slip.
    unknown = where.project if nothing and not where.with_global and not remark else None
    said = (notice_of(memory, events.waiting, unknown), note_on(events, summaries), remark)
    if notice := " ".join(one for one in said if one):
        data["notice"] = notice
    return Reply(data)


def timeline_in_project(
    memory: LocalMemory,
    anchor_id: Annotated[IdNumber, Param("Id of the anchor observation")],
    depth_before: Annotated[int, Param("How many before, 0-50", least=0, most=MAX_LIMIT)] = 5,
    depth_after: Annotated[int, Param("How many after, 0-50", least=0, most=MAX_LIMIT)] = 5,
) -> Reply[TimelineReply]:
    """What happened before and after an observation, in its own project."""
    found = timeline(memory, anchor_id, depth_before, depth_after, own_project=True)
    return Reply({"timeline": [timeline_row(one) for one in found]})


def timeline_around(
    memory: LocalMemory,
    anchor_id: Annotated[IdNumber, Param("Id of the anchor observation")],
    depth_before: Annotated[int, Param("How many before, 0-50", least=0, most=MAX_LIMIT)] = 5,
    depth_after: Annotated[int, Param("How many after, 0-50", least=0, most=MAX_LIMIT)] = 5,
) -> Reply[TimelineReply]:
    """What happened before and after an observation, in any project."""
    return Reply({"timeline": [timeline_row(one) for one in timeline(memory, anchor_id, depth_before, depth_after)]})


def get_observations(
    memory: LocalMemory, ids: Annotated[list[IdNumber], Param("Observation ids, at most 50", max_items=MAX_LIMIT)]
) -> Reply[ObservationsReply]:
    """Full records in the order asked, and the ids that nothing answers to."""
    fetched = get_items(memory, ids)
    record_use(memory, fetched.items)
    return Reply({"observations": [full_observation(item) for item in fetched.items], "missing": list(fetched.missing)})


def record_text(memory: LocalMemory, id_: int | str) -> str:
    """One item in full, by any spelling of its id, as get_observations answers."""
    return compact_json(redact_data(full_observation(get_item(memory, id_))))


_SEARCHING = (
    "Full-text and semantic search over observations and summaries. Plain questions, or FTS5 operators:"
    ' AND, OR, NOT, "phrase", prefix*, column:term.'
)
TOOLS = (
    Tool.of(search, dialect="kiro", verb="search", title="Search memory", description=_SEARCHING),
    Tool.of(
        timeline_around,
        dialect="kiro",
        verb="timeline",
        title="Timeline around an observation",
        description="What happened before and after an observation, in all projects.",
        name="timeline",
    ),
    Tool.of(
        get_observations,
        dialect="kiro",
        verb="get_many",
        title="Observations by id",
        description="Full details of observations by their ids, in the order asked.",
    ),
)


WINDOW_TOOLS = (
    Tool.of(
        search_from_window,
        dialect="kiro",
        verb="search",
        title="Search memory",
        description=_SEARCHING,
        name="search",
    ),
    Tool.of(
        timeline_in_project,
        dialect="kiro",
        verb="timeline",
        title="Timeline around an observation",
        description="What happened before and after an observation, in its project.",
        name="timeline",
    ),
)


def observation(item: Item) -> Observation:
    """An item of any kind as an observation."""
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": detail(item, "subtitle") or detail(item, "role"),
        "text": item.body or None,
        "narrative": detail(item, "narrative") or _fields_as_text(item),
        "facts": detail(item, "facts"),
        "concepts": detail(item, "concepts") or (", ".join(item.tags) or None),
        "files_read": detail(item, "files_read"),
        "files_modified": detail(item, "files_modified") or detail(item, "relevant_files"),
        "project": project_name(item),
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
        "is_stale": int(is_stale(item)),
        "discovery_tokens": item.tokens,
    }


def cut_long_texts(record: _Record) -> _Record:
    """A record as a search result: long texts cut."""
    long = {name: value for name, value in record.items() if isinstance(value, str) and len(value) > LONGEST_FOUND}
    return cast(_Record, {**record, **{name: truncate(value, LONGEST_FOUND) for name, value in long.items()}})


def found_observation(item: Item, relevance: float) -> FoundObservation:
    """An item as a search result."""
    proposal = source_fields(item) if item.review == PROPOSED else {}
    found: Any = {**cut_long_texts(observation(item)), "score": round(relevance, 4), **proposal}
    return cast(FoundObservation, found)


def full_observation(item: Item) -> FullObservation:
    """An item with everything that is known of it."""
    full: Any = {
        **observation(item),
        "uid": item.uid,
        "kind": item.kind,
        "session_id": item.session,
        "tags": list(item.tags),
        **source_fields(item),
    }
    if item.damaged:
        full["damaged"] = sorted(item.damaged)
    return cast(FullObservation, full)


def summary(item: Item) -> Summary:
    return {
        "id": item.id,
        "session_id": item.session or "",
        "project": project_name(item),
        "request": detail(item, "request") or item.title,
        "investigated": detail(item, "investigated"),
        "learned": detail(item, "learned"),
        "completed": detail(item, "completed"),
        "next_steps": detail(item, "next_steps"),
        "notes": detail(item, "notes") or item.body or None,
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
    }


def timeline_row(entry: TimelineEntry) -> TimelineRow:
    item = entry.item
    narrative = truncate(item.details.get("narrative", ""), LONGEST_FOUND) or shorten(item.body, LONGEST_NARRATIVE)
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "subtitle": detail(item, "subtitle") or detail(item, "role"),
        "narrative": narrative or None,
        "project": project_name(item),
        "created_at": iso_time(item.created_ms),
        "created_at_epoch": item.created_ms,
        "position": entry.position,
    }


def project_name(item: Item) -> str:
    return base_name(item.project) if item.project else NO_PROJECT


def _fields_as_text(item: Item) -> str | None:
    """The fields of a summary or a checkpoint, in order."""
    return item.details_text() or None if item.kind in ("summary", "checkpoint") else None


def detail(item: Item, name: str) -> str | None:
    return item.details.get(name) or None


def notice_of(memory: LocalMemory, waiting: int, project: str | None = None) -> str:
    """That the project is unknown, that embedding failed since the last notice, or what has no vector yet."""
    unknown = None if project is None else unknown_project(memory, project)
    if unknown is not None:
        return f"{unknown.message} {unknown.hint}"
    return search_notice(memory, waiting)
