"""Sekha: conversations with their messages, folders, labels, importance and status, as the same here.

Written against the seven migrations of its controller 0.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commonplace.capture.import_report import Entry, Skipped, conversation_label
from commonplace.capture.importers.foreign_database import (
    BOOKKEEPING,
    REBUILT_HERE,
    ForeignDatabase,
    Row,
    TableMapping,
    fit_item,
    merge_metadata,
    split_conversation,
)
from commonplace.memory.conversations import STATUSES, NewConversation, NewMessage
from commonplace.memory.remember import NewItem
from commonplace.model import MESSAGE_ROLES, ref

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
    """Conversations, then the summaries and facts derived from them."""
    for id_, group in groupby(TABLES.rows(database, "messages", _ORDER), key=lambda row: row.text("conversation_id")):
        about = next(TABLES.rows(database, "conversations", "WHERE id = ?", (id_,)), None)
        if about is None:
            why = "its conversation no longer exists"
            yield Skipped(f"conversation {id_}", why, "message", len(list(group)))
            continue
        rows = [row for row in group if row.text("content")]
        if rows:
            yield from split_conversation(_conversation(database, id_, about, rows[0]), map(_message, rows))
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
    status, importance = about.text("status"), about.get("importance_score")
    tags = [row.text("tag") for row in TABLES.rows(database, "semantic_tags", "WHERE conversation_id = ?", (id_,))]
    known = status in STATUSES
    return NewConversation(
        label=conversation_label(about.text("label"), first.text("content")),
        messages=(),
        folder=about.text("folder") or "/imports/sekha",
        importance=min(10.0, max(0.0, float(importance))) if isinstance(importance, (int, float)) else None,
        status=status if known else None,
        source=TABLES.source,
        key=TABLES.key(id_),
        meta=TABLES.meta(id_, about, tags=tags, status="" if known else status),
        started_ms=about.time("created_at"),
        updated_ms=about.time("updated_at"),
        uid=ref(id_).uid if id_ else None,
    )


def _message(row: Row) -> NewMessage:
    id_, role = row.text("id"), row.text("role")
    known = role.lower() in MESSAGE_ROLES
    meta = merge_metadata(TABLES.meta(id_, row, role="" if known else role), row.nested("metadata"))
    uid = TABLES.uid("message", id_)
    role = role.lower() if known else "assistant"
    return NewMessage(role, row.text("content"), row.time("timestamp"), meta, id_, uid)


def _summary(row: Row) -> Entry:
    return fit_item(
        NewItem(
            content=row.text("summary_text"),
            kind="summary",
            type=row.text("level"),
            meta=TABLES.meta(row.text("id"), row, "timestamp_range", "model_used"),
            session=TABLES.key(row.text("conversation_id")),
            created_ms=row.time("generated_at"),
            uid=TABLES.uid("summary", row.text("id")),
        )
    )


def _fact(row: Row) -> Entry:
    """An edge of the knowledge graph, as a readable fact."""
    parts = [row.text(name) for name in ("subject_id", "predicate", "object_id")]
    return fit_item(
        NewItem(
            content=" ".join(part.replace("_", " ") for part in parts),
            type="fact",
            meta=TABLES.meta(" ".join(parts), row),
            session=TABLES.key(row.text("conversation_id")),
            created_ms=row.time("extracted_at"),
            uid=TABLES.uid("fact", *parts, row.text("conversation_id")),
        )
    )
