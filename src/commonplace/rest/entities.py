"""Entities and the profile over HTTP: what memories name, what is known of one of those, and how people work."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from commonplace.dialects.project_and_entity_records import (
    EntityRecord,
    KnowledgeRecord,
    ProfileRecord,
    entity_record,
    knowledge_record,
    profile_record,
)
from commonplace.dialects.records import ItemRecord
from commonplace.memory import about, entities, profile
from commonplace.memory.local_memory import LocalMemory
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict
from commonplace.rest.items import find_item, item_answer
from commonplace.text.entity_names import MAX_NAME, EntityKind
from commonplace.text.validity import parse_as_of

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
