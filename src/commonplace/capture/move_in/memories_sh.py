"""memories.sh: rules, decisions, facts, notes and skills with all that hangs from them, and the sessions of later ones.

Written against 0.7.9 and what was added to it by mid 2026; and the JSON of `memories export`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commonplace.capture.foreign import Found, Skipped, Stream, label_of
from commonplace.capture.move_in.arriving import (
    BOOKKEEPING,
    MADE_ANEW,
    Plan,
    arrived,
    beside,
    link,
    listed,
    object_of,
    project_of,
    sliced,
    text,
    when,
)
from commonplace.capture.move_in.database import Database, Row
from commonplace.capture.move_in.exports import read_as
from commonplace.memory.book import wall_clock
from commonplace.memory.conversations import ROLES, Conversation, Said
from commonplace.memory.remember import Note
from commonplace.memory.take_in import Replaced

_GRAPH = "it was made of the memories; the graph here is made anew"
PLAN = Plan(
    "memories.sh",
    {
        "memories": "id content tags scope project_id type paths category metadata created_at updated_at deleted_at"
        " user_id memory_layer expires_at source_session_id superseded_by superseded_at confidence last_confirmed_at",
        "memory_links": "id source_id target_id link_type",
        "memory_sessions": "id scope project_id client status title started_at last_activity_at ended_at metadata",
        "memory_session_events": "id session_id role kind content turn_index created_at",
        "memory_session_snapshots": "id session_id slug source_trigger transcript_md message_count created_at",
        "export": "project_id",
    },
    {
        "memories.embedding": MADE_ANEW,
        "memories.upsert_key": "what is said again is known by what it says",
        "memory_links.created_at": "when two things were linked",
        "memory_history": "earlier wordings; the latest one is kept",
        "reminders": "reminders have no place here",
        "files": "copies of configuration files, which `commonplace learn` reads where they are",
        "graph_nodes": _GRAPH,
        "graph_edges": _GRAPH,
        "memory_node_links": _GRAPH,
        "projects": "projects are named by what belongs to them",
        "configs": BOOKKEEPING,
        "sync_state": BOOKKEEPING,
        "memory_compaction_events": BOOKKEEPING,
        "memory_consolidation_runs": BOOKKEEPING,
        "memory_session_events.token_count": MADE_ANEW,
        "memory_session_events.is_meaningful": BOOKKEEPING,
        "export.version": "what the export says of itself",
        "export.exported_at": "what the export says of itself",
    },
)
_LINKED = "WHERE ? IN (source_id, target_id) ORDER BY rowid"

_EXPORTED = {"memories": "memories"}


def read(database: Database) -> Iterator[Found]:
    """Sessions, memories, then which of them took another's place."""
    yield from _sessions(database)
    exported = next((text(row, "project_id") for row in PLAN.rows(database, "export")), "")
    links = bool(database.has("memory_links") and database.count("memory_links"))
    for row in PLAN.rows(database, "memories", "ORDER BY rowid"):
        yield _memory(row, exported, _links(database, row) if links else [])
    yield from _replaced(database)
    yield from PLAN.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Found]:
    return read_as(stream, _EXPORTED, read, PLAN.taken)


def _sessions(database: Database) -> Iterator[Found]:
    rows = PLAN.rows(database, "memory_session_events", "ORDER BY session_id, created_at, rowid")
    for id_, group in groupby(rows, key=lambda row: text(row, "session_id")):
        events = [row for row in group if text(row, "content")]
        if events:
            about = next(PLAN.rows(database, "memory_sessions", "WHERE id = ?", (id_,)), {})
            conversation = Conversation(
                label=label_of(text(about, "title"), text(events[0], "content")),
                messages=(),
                folder="/imports/memories.sh",
                status="archived" if text(about, "status") == "closed" else None,
                project=project_of(text(about, "project_id")),
                source=PLAN.source,
                key=PLAN.key(id_),
                meta=PLAN.meta(id_, about, "client", "status", "metadata", "ended_at"),
                started_ms=when(about, "started_at"),
            )
            yield from sliced(conversation, map(_event, events))
    for row in PLAN.rows(database, "memory_session_snapshots", "ORDER BY rowid"):
        yield _snapshot(row)


def _event(row: Row) -> Said:
    role, uid = text(row, "role"), PLAN.uid("event", row["id"])
    meta = PLAN.meta(row["id"], row, "kind", "turn_index")
    return Said(role if role in ROLES else "system", text(row, "content"), when(row, "created_at"), meta, uid, uid)


def _snapshot(row: Row) -> Found:
    return arrived(
        Note(
            kind="checkpoint",
            title=text(row, "slug").replace("-", " "),
            details={"task": text(row, "slug"), "snapshot": text(row, "transcript_md")},
            meta=PLAN.meta(row["id"], row, "source_trigger", "message_count"),
            session=PLAN.key(text(row, "session_id")),
            created_ms=when(row, "created_at"),
            uid=PLAN.uid("snapshot", row["id"]),
        )
    )


def _memory(row: Row, exported: str, links: list[dict[str, object]]) -> Found:
    """A memory; one of a project is global only if nobody knows which project that is."""
    scope, session = text(row, "scope"), text(row, "source_session_id")
    project = text(row, "project_id") or (exported if scope == "project" else "")
    expires = when(row, "expires_at")
    meta = PLAN.meta(
        *(text(row, "id"), row, "updated_at", "user_id", "memory_layer", "expires_at", "confidence"),
        *("last_confirmed_at", "superseded_at"),
        links=links,
    )
    return arrived(
        Note(
            content=text(row, "content"),
            type=text(row, "type") or "note",
            details={"paths": "\n".join(listed(row.get("paths"))), "category": text(row, "category")},
            meta=beside(meta, object_of(row.get("metadata"))),
            project=project,
            session=PLAN.key(session) if session else None,
            tags=listed(row.get("tags")),
            created_ms=when(row, "created_at"),
            uid=_uid(row.get("id")),
        ),
        forgotten=bool(text(row, "deleted_at")) or (expires is not None and expires < wall_clock()),
    )


def _links(database: Database, row: Row) -> list[dict[str, object]]:
    found = []
    for one in PLAN.rows(database, "memory_links", _LINKED, (row.get("id"),)):
        ends = {text(one, "source_id"), text(one, "target_id")} - {text(row, "id")}
        found += [link(_uid(end), text(one, "link_type") or "related") for end in ends]
    return found


def _replaced(database: Database) -> Iterator[Found]:
    if database.has("memories", "superseded_by"):
        for row in database.rows("memories", "id superseded_by", "WHERE superseded_by IS NOT NULL"):
            yield Replaced(_uid(row["id"]), _uid(row["superseded_by"]))
    for row in PLAN.rows(database, "memory_links", "WHERE link_type = 'supersedes'"):
        yield Replaced(_uid(row["target_id"]), _uid(row["source_id"]))
    if database.has("memory_links") and database.has("memories"):
        lost = "source_id NOT IN (SELECT id FROM memories) OR target_id NOT IN (SELECT id FROM memories)"
        if count := database.count("memory_links", lost):
            yield Skipped("memory_links", "one of its ends is not there any more", "link", count)


def _uid(id_: object) -> str:
    return PLAN.uid("memory", str(id_))
