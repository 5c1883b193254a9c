"""memories.sh: rules, decisions, facts, notes and skills with their links, and the sessions of later versions.

Written against 0.7.9 and the additions up to mid 2026, and the JSON of `memories export`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commonplace.capture.import_report import Entry, Skipped, Stream, conversation_label
from commonplace.capture.importers.foreign_database import (
    BOOKKEEPING,
    MISSING_END,
    REBUILT_HERE,
    SELF_DESCRIPTION,
    ForeignDatabase,
    Row,
    TableMapping,
    fit_item,
    link_to,
    merge_metadata,
    project_name,
    read_export_tables,
    split_conversation,
)
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.memory.import_items_and_records import Replacement
from commonplace.memory.local_memory import wall_clock
from commonplace.memory.remember import NewItem
from commonplace.model import MESSAGE_ROLES

_GRAPH = "it was derived from the memories; the graph is rebuilt here"
TABLES = TableMapping(
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
        "memories.embedding": REBUILT_HERE,
        "memories.upsert_key": "the same content is recognised without it",
        "memory_links.created_at": "when two things were linked",
        "memory_history": "earlier wordings; the latest one is imported",
        "reminders": "there are no reminders here",
        "files": "copies of configuration files, which `commonplace learn` reads where they are",
        "graph_nodes": _GRAPH,
        "graph_edges": _GRAPH,
        "memory_node_links": _GRAPH,
        "projects": "projects are named by what belongs to them",
        "configs": BOOKKEEPING,
        "sync_state": BOOKKEEPING,
        "memory_compaction_events": BOOKKEEPING,
        "memory_consolidation_runs": BOOKKEEPING,
        "memory_session_events.token_count": REBUILT_HERE,
        "memory_session_events.is_meaningful": BOOKKEEPING,
        "export.version": SELF_DESCRIPTION,
        "export.exported_at": SELF_DESCRIPTION,
    },
)
_LINKED = "WHERE ? IN (source_id, target_id) ORDER BY rowid"

_EXPORTED = {"memories": "memories"}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Sessions, memories, then which memories replace others."""
    yield from _sessions(database)
    exported = next((row.text("project_id") for row in TABLES.rows(database, "export")), "")
    links = bool(database.has("memory_links") and database.count("memory_links"))
    for row in TABLES.rows(database, "memories", "ORDER BY rowid"):
        yield _memory(row, exported, _links(database, row) if links else [])
    yield from _replacements(database)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, TABLES.columns)


def _sessions(database: ForeignDatabase) -> Iterator[Entry]:
    rows = TABLES.rows(database, "memory_session_events", "ORDER BY session_id, created_at, rowid")
    for id_, group in groupby(rows, key=lambda row: row.text("session_id")):
        events = [row for row in group if row.text("content")]
        if events:
            about = next(TABLES.rows(database, "memory_sessions", "WHERE id = ?", (id_,)), Row())
            conversation = NewConversation(
                label=conversation_label(about.text("title"), events[0].text("content")),
                messages=(),
                folder="/imports/memories.sh",
                status="archived" if about.text("status") == "closed" else None,
                project=project_name(about.text("project_id")),
                source=TABLES.source,
                key=TABLES.key(id_),
                meta=TABLES.meta(id_, about, "client", "status", "metadata", "ended_at"),
                started_ms=about.time("started_at"),
            )
            yield from split_conversation(conversation, map(_event, events))
    for row in TABLES.rows(database, "memory_session_snapshots", "ORDER BY rowid"):
        yield _snapshot(row)


def _event(row: Row) -> NewMessage:
    uid, meta = TABLES.uid("event", row["id"]), TABLES.meta(row["id"], row, "kind", "turn_index")
    role = row.text("role") if row.text("role") in MESSAGE_ROLES else "system"
    return NewMessage(role, row.text("content"), row.time("created_at"), meta, uid, uid)


def _snapshot(row: Row) -> Entry:
    return fit_item(
        NewItem(
            kind="checkpoint",
            title=row.text("slug").replace("-", " "),
            details={"task": row.text("slug"), "snapshot": row.text("transcript_md")},
            meta=TABLES.meta(row["id"], row, "source_trigger", "message_count"),
            session=TABLES.key(row.text("session_id")),
            created_ms=row.time("created_at"),
            uid=TABLES.uid("snapshot", row["id"]),
        )
    )


def _memory(row: Row, exported: str, links: list[dict[str, object]]) -> Entry:
    """A memory; one of an unknown project becomes global."""
    session, expires = row.text("source_session_id"), row.time("expires_at")
    project = row.text("project_id") or (exported if row.text("scope") == "project" else "")
    meta = TABLES.meta(
        *(row.text("id"), row, "updated_at", "user_id", "memory_layer", "expires_at", "confidence"),
        *("last_confirmed_at", "superseded_at"),
        links=links,
    )
    return fit_item(
        NewItem(
            content=row.text("content"),
            type=row.text("type") or "note",
            details={"paths": "\n".join(row.texts("paths")), "category": row.text("category")},
            meta=merge_metadata(meta, row.nested("metadata")),
            project=project,
            session=TABLES.key(session) if session else None,
            tags=row.texts("tags"),
            created_ms=row.time("created_at"),
            uid=_uid(row.get("id")),
        ),
        forgotten=bool(row.text("deleted_at")) or (expires is not None and expires < wall_clock()),
    )


def _links(database: ForeignDatabase, row: Row) -> list[dict[str, object]]:
    found = []
    for one in TABLES.rows(database, "memory_links", _LINKED, (row.get("id"),)):
        ends = {one.text("source_id"), one.text("target_id")} - {row.text("id")}
        found += [link_to(_uid(end), one.text("link_type") or "related") for end in ends]
    return found


def _replacements(database: ForeignDatabase) -> Iterator[Entry]:
    if database.has("memories", "superseded_by"):
        for row in database.rows("memories", "id superseded_by", "WHERE superseded_by IS NOT NULL"):
            yield Replacement(_uid(row["id"]), _uid(row["superseded_by"]))
    for row in TABLES.rows(database, "memory_links", "WHERE link_type = 'supersedes'"):
        yield Replacement(_uid(row["target_id"]), _uid(row["source_id"]))
    if database.has("memory_links") and database.has("memories"):
        lost = "source_id NOT IN (SELECT id FROM memories) OR target_id NOT IN (SELECT id FROM memories)"
        if count := database.count("memory_links", lost):
            yield Skipped("memory_links", MISSING_END, "link", count)


def _uid(id_: object) -> str:
    return TABLES.uid("memory", str(id_))
