"""Projects, entities and the profile over HTTP: where a project stands, what memories name, and how people work."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from commonplace.dialects.project_and_entity_records import (
    BriefList,
    EntityRecord,
    KnowledgeRecord,
    OverviewRecord,
    ProfileRecord,
    brief_record,
    entity_record,
    knowledge_record,
    overview_record,
    profile_record,
)
from commonplace.dialects.records import ItemRecord, ProjectRecord, project_record
from commonplace.dialects.reply_schema import component
from commonplace.memory import about, entities, profile, projects
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.project_overview import CARDS, project_briefs, project_overview
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.items import find_item, item_answer
from commonplace.text.entity_names import MAX_NAME, EntityKind
from commonplace.text.validity import parse_as_of

MAX_CARDS = 100
_ENTITY_NAME = f"^\\s*{fields.VISIBLE_CHARACTER}.*{fields.VISIBLE_CHARACTER}\\s*$"
EntityNamed = Annotated[
    str, Field(pattern=_ENTITY_NAME, max_length=MAX_NAME, description="A person, a service, a file, ... in any case.")
]


class Listed(Strict):
    """Which entities to list."""

    kind: EntityKind | None = None
    project: fields.ProjectName | None = Field(None, description="Only this project; all of them if omitted.")
    named: Annotated[str, Field(max_length=MAX_NAME, description="A part of the name.")] = ""
    as_of: fields.AsOf | None = None
    limit: Annotated[int, Field(ge=1, le=entities.MAX_LIMIT), fields.WHOLE] = entities.DEFAULT_LIMIT


class Opened(Strict):
    """Which entity to open."""

    name: EntityNamed
    project: fields.ProjectName | None = Field(None, description="Only this project; all of them if omitted.")
    as_of: fields.AsOf | None = None


class Whose(Strict):
    """Whose profile it is."""

    project: fields.ProjectName | None = Field(
        None, description="Of the people on this project, with what applies everywhere; of everyone if omitted."
    )


class Shown(Strict):
    """How a memory is shown in the profile."""

    show: Literal["pinned", "hidden", "auto"] = Field(description="`auto`: by the rules.")


class EntityList(TypedDict):
    """Entities, what is named most first."""

    entities: list[EntityRecord]


def list_entities(memory: LocalMemory, request: ApiRequest[Listed, None]) -> Answer[EntityList]:
    """People, projects, services, libraries, files and other things that memories name."""
    wanted = request.query
    at_ms = parse_as_of(wanted.as_of, memory.clock()) if wanted.as_of else None
    found = entities.list_entities(memory, wanted.kind or "", wanted.project, wanted.named, wanted.limit, at_ms)
    return Answer({"entities": [entity_record(entity) for entity in found]})


def read_entity(memory: LocalMemory, request: ApiRequest[Opened, None]) -> Answer[KnowledgeRecord]:
    """What is known of somebody or something, since when, by whom, and what it has to do with."""
    wanted = request.query
    at_ms = parse_as_of(wanted.as_of, memory.clock()) if wanted.as_of else None
    return Answer(knowledge_record(about.about(memory, wanted.name, wanted.project, at_ms)))


def read_profile(memory: LocalMemory, request: ApiRequest[Whose, None]) -> Answer[ProfileRecord]:
    """How the people who use this memory work: sentences of memories, at most 300 tokens."""
    return Answer(profile_record(profile.build_profile(memory, request.query.project)))


def show_in_profile(memory: LocalMemory, request: ApiRequest[None, Shown]) -> Answer[ItemRecord]:
    """Pin a memory to the profile, hide it from it, or leave that to the rules."""
    item = find_item(memory, request.path["id"])
    request.expected_rev(item)
    return item_answer(profile.show_in_profile(memory, item.id, request.body.show))


class Alias(Strict):
    """Another name for a project."""

    project: fields.ProjectName
    alias: fields.ProjectName


class OfProject(Strict):
    """Which project."""

    project: fields.ProjectName | None = Field(None, description="What belongs to none if omitted.")


class HowMany(Strict):
    """How many projects."""

    limit: Annotated[int, Field(ge=1, le=MAX_CARDS), fields.WHOLE] = CARDS


@component("Projects")
class ProjectList(TypedDict):
    """Every project."""

    projects: list[ProjectRecord]


@component("Aliased")
class AliasReply(TypedDict):
    """A project, and the name that it has now as well."""

    project: str
    alias: str


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


def read_overview(memory: LocalMemory, request: ApiRequest[OfProject, None]) -> Answer[OverviewRecord]:
    """What is open, decided, contradicted, failed and fixed in a project, who works on what, and its last week."""
    return Answer(overview_record(project_overview(memory, request.query.project)))


def list_briefs(memory: LocalMemory, request: ApiRequest[HowMany, None]) -> Answer[BriefList]:
    """Every project in short: what is open, the last decision and the last session."""
    return Answer({"projects": [brief_record(brief) for brief in project_briefs(memory, request.query.limit)]})
