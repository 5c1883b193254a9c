"""Sekha: conversations with their messages, folders, labels, importance and status, which are the same here.

Written against the seven migrations of its controller 0.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commonplace.capture.import_report import Entry, Skipped, conversation_label
from commonplace.capture.importers.foreign_database import ForeignDatabase, Row
from commonplace.capture.importers.row_mapping import (
    BOOKKEEPING,
    REBUILT_HERE,
    TableMapping,
    field_object,
    field_text,
    field_time,
    fit_item,
    merge_metadata,
    split_conversation,
)
from commonplace.identity import ref
from commonplace.memory.conversations import ROLES, STATUSES, NewConversation, NewMessage
from commonplace.memory.remember import NewItem

TABLES = TableMapping(
    "sekha",
    {
        "conversations": "id label folder status importance_score created_at updated_at",
        "messages": "id conversation_id role content timestamp metadata",
        "semantic_tags": "id conversation_id tag confidence",
        "hierarchical_summaries": "id conversation_id level summary_text timestamp_range generated_at model_used",
        "knowledge_graph_edges": "subject_id predicate object_id conversation_id extracted_at",
    },
    {
        "conversations.word_count": REBUILT_HERE,
        "conversations.session_count": REBUILT_HERE,
        "messages.embedding_id": REBUILT_HERE,
        "semantic_tags.extracted_at": "when a tag was found",
        "hierarchical_summaries.token_count": REBUILT_HERE,
        "_sqlx_migrations": BOOKKEEPING,
        "seaql_migrations": BOOKKEEPING,
    },
)
_ORDER = "ORDER BY conversation_id, timestamp, rowid"


def read(database: ForeignDatabase) -> Iterator[Entry]:
    """Conversations, then what was made of them."""
    for id_, group in groupby(
        TABLES.rows(database, "messages", _ORDER), key=lambda row: field_text(row, "conversation_id")
    ):
        about = next(TABLES.rows(database, "conversations", "WHERE id = ?", (id_,)), None)
        if about is None:
            yield Skipped(f"conversation {id_}", "its conversation is not there any more", "message", len(list(group)))
            continue
        said = [row for row in group if field_text(row, "content")]
        if said:
            yield from split_conversation(_conversation(database, id_, about, said[0]), map(_said, said))
    if database.has("conversations") and database.has("messages"):
        empty = database.count("conversations", "id NOT IN (SELECT conversation_id FROM messages)")
        if empty:
            yield Skipped("conversations", "it has no messages", "conversation", empty)
    for row in TABLES.rows(database, "hierarchical_summaries", "ORDER BY rowid"):
        yield _summary(row)
    for row in TABLES.rows(database, "knowledge_graph_edges", "ORDER BY rowid"):
        yield _fact(row)
    yield from TABLES.left_out(database)


def _conversation(database: ForeignDatabase, id_: str, about: Row, first: Row) -> NewConversation:
    status, importance = field_text(about, "status"), about.get("importance_score")
    tags = [
        field_text(row, "tag") for row in TABLES.rows(database, "semantic_tags", "WHERE conversation_id = ?", (id_,))
    ]
    known = status in STATUSES
    return NewConversation(
        label=conversation_label(field_text(about, "label"), field_text(first, "content")),
        messages=(),
        folder=field_text(about, "folder") or "/imports/sekha",
        importance=min(10.0, max(0.0, float(importance))) if isinstance(importance, (int, float)) else None,
        status=status if known else None,
        source=TABLES.source,
        key=TABLES.key(id_),
        meta=TABLES.meta(id_, about, tags=tags, status="" if known else status),
        started_ms=field_time(about, "created_at"),
        updated_ms=field_time(about, "updated_at"),
        uid=_own(id_),
    )


def _said(row: Row) -> NewMessage:
    id_, told = field_text(row, "id"), field_text(row, "role")
    role = told.lower()
    known = role in ROLES
    meta = merge_metadata(TABLES.meta(id_, row, role="" if known else told), field_object(row.get("metadata")))
    at_ms = field_time(row, "timestamp")
    return NewMessage(
        role if known else "assistant", field_text(row, "content"), at_ms, meta, id_, TABLES.uid("message", id_)
    )


def _summary(row: Row) -> Entry:
    return fit_item(
        NewItem(
            content=field_text(row, "summary_text"),
            kind="summary",
            type=field_text(row, "level"),
            meta=TABLES.meta(field_text(row, "id"), row, "timestamp_range", "model_used"),
            session=TABLES.key(field_text(row, "conversation_id")),
            created_ms=field_time(row, "generated_at"),
            uid=TABLES.uid("summary", field_text(row, "id")),
        )
    )


def _fact(row: Row) -> Entry:
    """An edge of the knowledge graph, as a fact that can be read."""
    parts = [field_text(row, name) for name in ("subject_id", "predicate", "object_id")]
    return fit_item(
        NewItem(
            content=" ".join(part.replace("_", " ") for part in parts),
            type="fact",
            meta=TABLES.meta(" ".join(parts), row),
            session=TABLES.key(field_text(row, "conversation_id")),
            created_ms=field_time(row, "extracted_at"),
            uid=TABLES.uid("fact", *parts, field_text(row, "conversation_id")),
        )
    )


def _own(id_: str) -> str | None:
    return ref(id_).uid if id_ else None
