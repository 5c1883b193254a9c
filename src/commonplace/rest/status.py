"""The state of the memory over HTTP: its status, where projects stand, statistics, and rebuilding its embeddings."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict, cast

from pydantic import Field

from commonplace.dialects.project_and_entity_records import BriefList, OverviewRecord, brief_record, overview_record
from commonplace.dialects.records import ProjectRecord, project_record
from commonplace.dialects.reply_schema import Json, component
from commonplace.dialects.sekha_records import Statistics, statistics
from commonplace.memory import projects
from commonplace.memory.check_and_repair import queue_all_embeddings
from commonplace.memory.keys_and_spaces import is_server_admin
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.project_overview import CARDS, project_briefs, project_overview
from commonplace.memory.status_and_stats import stats_for_scope
from commonplace.memory.status_and_stats import status as status_of
from commonplace.model import SessionScope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.search import Labels
from commonplace.text.dates import DAY_MS, parse_time
from commonplace.text.paths import normalise_folder

_DAY_LETTERS = len("2026-02-13")


class Alias(Strict):
    """Another name for a project."""

    project: fields.ProjectName
    alias: fields.ProjectName


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


@component("Projects")
class ProjectList(TypedDict):
    """Every project."""

    projects: list[ProjectRecord]


@component("Aliased")
class AliasReply(TypedDict):
    """A project, and the name that it has now as well."""

    project: str
    alias: str


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


def list_projects(memory: LocalMemory, _request: ApiRequest[None, None]) -> Answer[ProjectList]:
    """Every project, the one used last first."""
    return Answer({"projects": [project_record(project) for project in projects.list_projects(memory)]})


def alias_project(memory: LocalMemory, request: ApiRequest[None, Alias]) -> Answer[AliasReply]:
    """Let a project answer to another name as well."""
    return Answer(
        {
            "project": projects.alias_project(memory, request.body.project, request.body.alias),
            "alias": request.body.alias,
        }
    )


def read_status(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[StatusReply]:
    """Counts, engine, model, and what still waits; to those who look after the server also where the store is."""
    return Answer(cast(StatusReply, status_of(memory, show_paths=is_server_admin(memory, request.key))))


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


MAX_CARDS = 100


class OfProject(Strict):
    """Which project."""

    project: fields.ProjectName | None = Field(None, description="What belongs to none if omitted.")


class HowMany(Strict):
    """How many projects."""

    limit: Annotated[int, Field(ge=1, le=MAX_CARDS), fields.WHOLE] = CARDS


def read_overview(memory: LocalMemory, request: ApiRequest[OfProject, None]) -> Answer[OverviewRecord]:
    """What is open, decided, contradicted, failed and fixed in a project, who works on what, and its last week."""
    return Answer(overview_record(project_overview(memory, request.query.project)))


def list_briefs(memory: LocalMemory, request: ApiRequest[HowMany, None]) -> Answer[BriefList]:
    """Every project in short: what is open, the last decision and the last session."""
    return Answer({"projects": [brief_record(brief) for brief in project_briefs(memory, request.query.limit)]})
