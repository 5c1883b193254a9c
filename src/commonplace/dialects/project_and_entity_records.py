"""Where a project stands, entities and the profile: as flat records, and what is known of an entity as Markdown.

They are what `--json`, the HTTP interface and MCP answer. Secrets are still in them: they are removed where a reply
leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from commonplace.dialects.records import (
    ItemBrief,
    ItemRecord,
    PairRecord,
    Time,
    iso_or_none,
    item_brief,
    item_record,
    pair_record,
)
from commonplace.dialects.reply_schema import Json, component
from commonplace.text.dates import iso_time
from commonplace.text.entity_names import EntityKind
from commonplace.text.sentences import shorten

if TYPE_CHECKING:
    from commonplace.memory.about import EntityKnowledge, RelatedEntity
    from commonplace.memory.entities import Entity
    from commonplace.memory.profile import Profile, ProfileLine
    from commonplace.memory.project_overview import Decision, ProjectBrief, ProjectOverview, SessionCard
    from commonplace.model import Item


class OpenRecord(TypedDict):
    """Something left to do, to answer or to fix, and the session that left it."""

    what: str
    text: str
    at: str
    session: str | None


class DecisionRecord(ItemBrief):
    """What was decided or rejected, why, when and by whom; `said` is the whole, `replaced` what held before."""

    statement: str
    reason: str
    said: str
    replaced: str
    author: str | None
    at: str


class FailureRecord(TypedDict):
    """A command that failed, and when it passed again, if it did."""

    command: str
    why: str
    times: int
    at: str
    fixed_at: str | None
    session: str | None


class PersonRecord(TypedDict):
    """Somebody who worked in the project, and on what last."""

    name: str
    agents: list[str]
    sessions: int
    statements: int
    last_at: str
    last_work: str


class FileRecord(TypedDict):
    """A file that was worked on."""

    path: str
    changed: int
    read: int
    last_at: str


class SessionCardRecord(TypedDict):
    """A session in short; a part that is not known is empty."""

    id: str
    source: str
    author: str
    began_at: str
    ended_at: str
    asked: str
    found: str
    changed: str
    files: list[str]
    next_steps: list[str]


@component("ProjectOverview")
class OverviewRecord(TypedDict):
    """Where a project stands; `project` is null for what belongs to none."""

    project: str | None
    name: str
    items: int
    last_at: str | None
    since: str
    until: str
    story: list[str]
    open: list[OpenRecord]
    decisions: list[DecisionRecord]
    rejected: list[DecisionRecord]
    contradictions: list[PairRecord]
    proposals: int
    failures: list[FailureRecord]
    rules: list[ItemBrief]
    global_rules: list[ItemBrief]
    facts: list[ItemBrief]
    people: list[PersonRecord]
    files: list[FileRecord]
    sessions: list[SessionCardRecord]
    activity: dict[str, int]
    left_out: dict[str, int]


class BriefRecord(TypedDict):
    """A project in short."""

    project: str | None
    name: str
    items: int
    last_at: str | None
    open_steps: list[str]
    open_count: int
    decision: DecisionRecord | None
    session: SessionCardRecord | None
    activity: dict[str, int]


@component("ProjectBriefs")
class BriefList(TypedDict):
    """Every project in short, the one worked on last first."""

    projects: list[BriefRecord]


def overview_record(found: ProjectOverview) -> OverviewRecord:
    """Where a project stands."""
    sessions = found.session_ids
    return {
        "project": found.project,
        "name": found.name,
        "items": found.items,
        "last_at": iso_or_none(found.last_ms),
        "since": iso_time(found.from_ms),
        "until": iso_time(found.to_ms),
        "story": list(found.story),
        "open": [
            {
                "what": one.what,
                "text": one.text,
                "at": iso_time(one.at_ms),
                "session": sessions.get(one.session_id or 0),
            }
            for one in found.open_ends
        ],
        "decisions": [_decision(one) for one in found.decisions],
        "rejected": [_decision(one) for one in found.rejected],
        "contradictions": [pair_record(pair) for pair in found.contradictions],
        "proposals": found.proposals,
        "failures": [
            {
                "command": one.command,
                "why": one.why,
                "times": one.times,
                "at": iso_time(one.at_ms),
                "fixed_at": iso_or_none(one.fixed_ms),
                "session": sessions.get(one.session_id or 0),
            }
            for one in found.failures
        ],
        "rules": [item_brief(item) for item in found.rules.project],
        "global_rules": [item_brief(item) for item in found.rules.everywhere],
        "facts": [item_brief(item) for item in found.facts],
        "people": [
            {
                "name": one.name,
                "agents": list(one.agents),
                "sessions": one.sessions,
                "statements": one.statements,
                "last_at": iso_time(one.last_ms),
                "last_work": one.last_work,
            }
            for one in found.people
        ],
        "files": [
            {"path": one.path, "changed": one.changed, "read": one.read, "last_at": iso_time(one.last_ms)}
            for one in found.files
        ],
        "sessions": [_card(card) for card in found.sessions],
        "activity": {day.isoformat(): count for day, count in found.activity.items()},
        "left_out": dict(found.left_out),
    }


def brief_record(found: ProjectBrief) -> BriefRecord:
    """A project in short."""
    return {
        "project": found.project,
        "name": found.name,
        "items": found.items,
        "last_at": iso_or_none(found.last_ms),
        "open_steps": list(found.open_steps),
        "open_count": found.open_count,
        "decision": None if found.decision is None else _decision(found.decision),
        "session": None if found.session is None else _card(found.session),
        "activity": {day.isoformat(): count for day, count in found.activity.items()},
    }


def _decision(one: Decision) -> DecisionRecord:
    return {
        **item_brief(one.item),
        "statement": one.statement,
        "reason": one.reason,
        "said": one.said,
        "replaced": one.replaced,
        "author": one.item.author,
        "at": iso_time(one.item.created_ms),
    }


def _card(card: SessionCard) -> SessionCardRecord:
    return {
        "id": card.session.short_id,
        "source": card.session.source,
        "author": card.author,
        "began_at": iso_time(card.session.started_ms),
        "ended_at": iso_time(card.session.ended_ms),
        "asked": card.request,
        "found": card.found,
        "changed": card.changed,
        "files": list(card.files),
        "next_steps": list(card.next_steps),
    }


_LONGEST_LINE = 300


@component("Entity")
class EntityRecord(TypedDict):
    """Something that memories name."""

    name: str
    kind: EntityKind
    aliases: list[str]
    items: Annotated[int, Json(description="How many of the memories that were read name it.")]
    first_at: Time
    last_at: Time


class RelatedRecord(TypedDict):
    """What an entity has to do with; without a relation, both are named together."""

    name: str
    kind: EntityKind
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


def _kind(kind: str) -> EntityKind:
    return kind  # type: ignore[return-value]
