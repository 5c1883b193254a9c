"""memories.sh: rules, decisions, facts, notes and skills with all that hangs from them, and the sessions of later ones.

Written against 0.7.9 and what was added to it by mid 2026; and the JSON of `memories export`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commonplace.capture.import_report import Entry, Skipped, Stream, conversation_label
from commonplace.capture.importers.foreign_database import ForeignDatabase, Row, read_export_tables
from commonplace.capture.importers.row_mapping import (
    BOOKKEEPING,
    REBUILT_HERE,
    TableMapping,
    field_list,
    field_object,
    field_text,
    field_time,
    fit_item,
    link_to,
    merge_metadata,
    project_name,
    split_conversation,
)
from commonplace.memory.conversations import ROLES, NewConversation, NewMessage
from commonplace.memory.import_items import Replacement
from commonplace.memory.local_memory import wall_clock
from commonplace.memory.remember import NewItem

_GRAPH = "it was made of the memories; the graph here is made anew"
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
        "memory_session_events.token_count": REBUILT_HERE,
        "memory_session_events.is_meaningful": BOOKKEEPING,
        "export.version": "what the export says of itself",
        "export.exported_at": "what the export says of itself",
    },
)
_LINKED = "WHERE ? IN (source_id, target_id) ORDER BY rowid"

_EXPORTED = {"memories": "memories"}


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Sessions, memories, then which of them took another's place."""
    yield from _sessions(database)
    exported = next((field_text(row, "project_id") for row in TABLES.rows(database, "export")), "")
    links = bool(database.has("memory_links") and database.count("memory_links"))
    for row in TABLES.rows(database, "memories", "ORDER BY rowid"):
        yield _memory(row, exported, _links(database, row) if links else [])
    yield from _replaced(database)
    yield from TABLES.left_out(database)


def read_export(stream: Stream, _name: str) -> Iterator[Entry]:
    return read_export_tables(stream, _EXPORTED, read, TABLES.taken)


def _sessions(database: ForeignDatabase) -> Iterator[Entry]:
    rows = TABLES.rows(database, "memory_session_events", "ORDER BY session_id, created_at, rowid")
    for id_, group in groupby(rows, key=lambda row: field_text(row, "session_id")):
        events = [row for row in group if field_text(row, "content")]
        if events:
            about = next(TABLES.rows(database, "memory_sessions", "WHERE id = ?", (id_,)), {})
            conversation = NewConversation(
                label=conversation_label(field_text(about, "title"), field_text(events[0], "content")),
                messages=(),
                folder="/imports/memories.sh",
                status="archived" if field_text(about, "status") == "closed" else None,
                project=project_name(field_text(about, "project_id")),
                source=TABLES.source,
                key=TABLES.key(id_),
                meta=TABLES.meta(id_, about, "client", "status", "metadata", "ended_at"),
                started_ms=field_time(about, "started_at"),
            )
            yield from split_conversation(conversation, map(_event, events))
    for row in TABLES.rows(database, "memory_session_snapshots", "ORDER BY rowid"):
        yield _snapshot(row)


def _event(row: Row) -> NewMessage:
    role, uid = field_text(row, "role"), TABLES.uid("event", row["id"])
    meta = TABLES.meta(row["id"], row, "kind", "turn_index")
    return NewMessage(
        role if role in ROLES else "system", field_text(row, "content"), field_time(row, "created_at"), meta, uid, uid
    )


def _snapshot(row: Row) -> Entry:
    return fit_item(
        NewItem(
            kind="checkpoint",
            title=field_text(row, "slug").replace("-", " "),
            details={"task": field_text(row, "slug"), "snapshot": field_text(row, "transcript_md")},
            meta=TABLES.meta(row["id"], row, "source_trigger", "message_count"),
            session=TABLES.key(field_text(row, "session_id")),
            created_ms=field_time(row, "created_at"),
            uid=TABLES.uid("snapshot", row["id"]),
        )
    )


def _memory(row: Row, exported: str, links: list[dict[str, object]]) -> Entry:
    """A memory; one of a project is global only if nobody knows which project that is."""
    scope, session = field_text(row, "scope"), field_text(row, "source_session_id")
    project = field_text(row, "project_id") or (exported if scope == "project" else "")
    expires = field_time(row, "expires_at")
    meta = TABLES.meta(
        *(field_text(row, "id"), row, "updated_at", "user_id", "memory_layer", "expires_at", "confidence"),
        *("last_confirmed_at", "superseded_at"),
        links=links,
    )
    return fit_item(
        NewItem(
            content=field_text(row, "content"),
            type=field_text(row, "type") or "note",
            details={"paths": "\n".join(field_list(row.get("paths"))), "category": field_text(row, "category")},
            meta=merge_metadata(meta, field_object(row.get("metadata"))),
            project=project,
            session=TABLES.key(session) if session else None,
            tags=field_list(row.get("tags")),
            created_ms=field_time(row, "created_at"),
            uid=_uid(row.get("id")),
        ),
        forgotten=bool(field_text(row, "deleted_at")) or (expires is not None and expires < wall_clock()),
    )


def _links(database: ForeignDatabase, row: Row) -> list[dict[str, object]]:
    found = []
    for one in TABLES.rows(database, "memory_links", _LINKED, (row.get("id"),)):
        ends = {field_text(one, "source_id"), field_text(one, "target_id")} - {field_text(row, "id")}
        found += [link_to(_uid(end), field_text(one, "link_type") or "related") for end in ends]
    return found


def _replaced(database: ForeignDatabase) -> Iterator[Entry]:
    if database.has("memories", "superseded_by"):
        for row in database.rows("memories", "id superseded_by", "WHERE superseded_by IS NOT NULL"):
            yield Replacement(_uid(row["id"]), _uid(row["superseded_by"]))
    for row in TABLES.rows(database, "memory_links", "WHERE link_type = 'supersedes'"):
        yield Replacement(_uid(row["target_id"]), _uid(row["source_id"]))
    if database.has("memory_links") and database.has("memories"):
        lost = "source_id NOT IN (SELECT id FROM memories) OR target_id NOT IN (SELECT id FROM memories)"
        if count := database.count("memory_links", lost):
            yield Skipped("memory_links", "one of its ends is not there any more", "link", count)


def _uid(id_: object) -> str:
    return TABLES.uid("memory", str(id_))
