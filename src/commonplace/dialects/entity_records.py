"""Entities and the profile as flat records and as Markdown: what `--json`, the HTTP interface and MCP answer.

Secrets are still in them: they are removed where a reply leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from commonplace.dialects.records import ItemRecord, Time, item_record
from commonplace.dialects.reply_schema import Json, component
from commonplace.text.dates import iso_time
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.memory.about import EntityKnowledge, RelatedEntity
    from commonplace.memory.entities import Entity
    from commonplace.memory.profile import Profile, ProfileLine
    from commonplace.model import Item

_LONGEST_LINE = 300
_Kind = Literal["person", "project", "service", "library", "file", "thing"]


@component("Entity")
class EntityRecord(TypedDict):
    """Something that memories name."""

    name: str
    kind: _Kind
    aliases: list[str]
    items: Annotated[int, Json(description="How many of the memories that were read name it.")]
    first_at: Time
    last_at: Time


class RelatedRecord(TypedDict):
    """What an entity has to do with; without a relation, both are named together."""

    name: str
    kind: _Kind
    relation: str
    outgoing: Annotated[bool, Json(description="The relation goes from the one that was asked about to this one.")]
    items: int
    item_id: int


@component("EntityKnowledge")
class KnowledgeRecord(EntityRecord):
    """What is known of an entity: statements that hold, the most trusted first, then the newest."""

    what: Annotated[str, Json(description="The sentence that says what it is, if there is one.")]
    statements: list[ItemRecord]
    total: int
    elsewhere: list[ItemRecord]
    written: list[ItemRecord]
    authors: dict[str, int]
    related: list[RelatedRecord]


class ProfileLineRecord(TypedDict):
    """A sentence of the profile, and the memory that it is quoted from."""

    text: str
    group: Literal["preferences", "corrections", "environment", "ways"]
    pinned: bool
    times: int
    by: Annotated[str, Json(description="Who says `I`, if that is somebody else than who asks.")]
    id: int
    short_id: str
    project: str | None
    author: str | None


@component("Profile")
class ProfileRecord(TypedDict):
    """How the people who use this memory work. `offered`: agents get it when a session starts."""

    lines: list[ProfileLineRecord]
    tokens: int
    offered: bool
    hidden: list[ItemRecord]


def entity_record(entity: Entity) -> EntityRecord:
    """An entity of the list."""
    return {
        "name": entity.name,
        "kind": _kind(entity.kind),
        "aliases": list(entity.aliases),
        "items": entity.items,
        "first_at": iso_time(entity.first_ms),
        "last_at": iso_time(entity.last_ms),
    }


def knowledge_record(known: EntityKnowledge) -> KnowledgeRecord:
    """An entity that was opened."""
    return {
        **entity_record(known.entity),
        "what": known.what,
        "statements": [item_record(item) for item in known.statements],
        "total": known.total,
        "elsewhere": [item_record(item) for item in known.elsewhere],
        "written": [item_record(item) for item in known.written],
        "authors": dict(known.authors),
        "related": [_related_record(one) for one in known.related],
    }


def profile_record(profile: Profile) -> ProfileRecord:
    """The profile, line by line."""
    return {
        "lines": [_line_record(line) for line in profile.lines],
        "tokens": profile.tokens,
        "offered": profile.offered,
        "hidden": [item_record(item) for item in profile.hidden],
    }


def knowledge_text(known: EntityKnowledge) -> str:
    """What is known of an entity as Markdown: a line for each thing, so that no content can pass for a heading."""
    return "\n".join(_knowledge_lines(known)) + "\n"


def _knowledge_lines(known: EntityKnowledge) -> Iterator[str]:
    entity = known.entity
    also = f", also called {', '.join(entity.aliases)}" if entity.aliases else ""
    yield f"# {shorten(entity.name, _LONGEST_LINE)} ({entity.kind}{also})"
    if known.what:
        yield shorten(known.what, _LONGEST_LINE)
    yield f"Known since {iso_time(entity.first_ms)[:10]}, last mentioned {iso_time(entity.last_ms)[:10]}."
    if known.authors:
        yield "Said by " + ", ".join(f"{name} ({number})" for name, number in known.authors.items()) + "."
    for heading, items in (
        ("What is known", known.statements),
        ("Named elsewhere", known.elsewhere),
        ("Written by them", known.written),
    ):
        if items:
            yield from ("", f"## {heading}", *map(_item_line, items))
    if known.total > len(known.statements):
        yield f"- and {known.total - len(known.statements)} more"
    if known.related:
        yield from (
            "",
            "## Related",
            *(f"- {shorten(one.phrase, _LONGEST_LINE)} ({one.kind})" for one in known.related),
        )


def _item_line(item: Item) -> str:
    mark = "proposed " if item.review == "proposed" else ""
    text = shorten(item.text or item.title, _LONGEST_LINE)
    return f"- {iso_time(item.created_ms)[:10]} [{mark}{item.type}] {text} ({item.short_id})"


def _related_record(one: RelatedEntity) -> RelatedRecord:
    return {
        "name": one.name,
        "kind": _kind(one.kind),
        "relation": one.relation,
        "outgoing": one.outgoing,
        "items": one.items,
        "item_id": one.item_id,
    }


def _line_record(line: ProfileLine) -> ProfileLineRecord:
    group: Literal["preferences", "corrections", "environment", "ways"] = line.group  # type: ignore[assignment]
    return {
        "text": line.text,
        "group": group,
        "pinned": line.pinned,
        "times": line.times,
        "by": line.by,
        "id": line.item.id,
        "short_id": line.item.short_id,
        "project": line.item.project,
        "author": line.item.author,
    }


def _kind(kind: str) -> _Kind:
    return kind  # type: ignore[return-value]
