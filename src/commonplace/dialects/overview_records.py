"""Where a project stands, as REST and `commonplace overview --json` reply with it."""

from __future__ import annotations

from typing import TypedDict

from commonplace.dialects.records import ItemBrief, PairRecord, item_brief, pair_record
from commonplace.dialects.reply_schema import component
from commonplace.memory.project_overview import Decision, ProjectBrief, ProjectOverview, SessionCard
from commonplace.text.dates import iso_time


class OpenRecord(TypedDict):
    """Something left to do, to answer or to fix, and the session that left it."""

    what: str
    text: str
    at: str
    session: str | None


class DecisionRecord(ItemBrief):
    """What was decided, why, when and by whom; `replaced` is what held before."""

    statement: str
    reason: str
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
        "last_at": _iso(found.last_ms),
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
        "contradictions": [pair_record(pair) for pair in found.contradictions],
        "proposals": found.proposals,
        "failures": [
            {
                "command": one.command,
                "why": one.why,
                "times": one.times,
                "at": iso_time(one.at_ms),
                "fixed_at": _iso(one.fixed_ms),
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
        "last_at": _iso(found.last_ms),
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


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso_time(ms)
