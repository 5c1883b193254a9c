"""Sekha: conversations with their messages, folders, labels, importance and status, which are the same here.

Written against the seven migrations of its controller 0.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commonplace.capture.foreign import Found, Skipped, label_of
from commonplace.capture.move_in.arriving import (
    BOOKKEEPING,
    MADE_ANEW,
    Plan,
    arrived,
    beside,
    object_of,
    sliced,
    text,
    when,
)
from commonplace.capture.move_in.database import Database, Row
from commonplace.identity import ref
from commonplace.memory.conversations import ROLES, STATUSES, Conversation, Said
from commonplace.memory.remember import Note

PLAN = Plan(
    "sekha",
    {
        "conversations": "id label folder status importance_score created_at updated_at",
        "messages": "id conversation_id role content timestamp metadata",
        "semantic_tags": "id conversation_id tag confidence",
        "hierarchical_summaries": "id conversation_id level summary_text timestamp_range generated_at model_used",
        "knowledge_graph_edges": "subject_id predicate object_id conversation_id extracted_at",
    },
    {
        "conversations.word_count": MADE_ANEW,
        "conversations.session_count": MADE_ANEW,
        "messages.embedding_id": MADE_ANEW,
        "semantic_tags.extracted_at": "when a tag was found",
        "hierarchical_summaries.token_count": MADE_ANEW,
        "_sqlx_migrations": BOOKKEEPING,
        "seaql_migrations": BOOKKEEPING,
    },
)
_ORDER = "ORDER BY conversation_id, timestamp, rowid"


def read(database: Database) -> Iterator[Found]:
    """Conversations, then what was made of them."""
    for id_, group in groupby(PLAN.rows(database, "messages", _ORDER), key=lambda row: text(row, "conversation_id")):
        about = next(PLAN.rows(database, "conversations", "WHERE id = ?", (id_,)), None)
        if about is None:
            yield Skipped(f"conversation {id_}", "its conversation is not there any more", "message", len(list(group)))
            continue
        said = [row for row in group if text(row, "content")]
        if said:
            yield from sliced(_conversation(database, id_, about, said[0]), map(_said, said))
    if database.has("conversations") and database.has("messages"):
        empty = database.count("conversations", "id NOT IN (SELECT conversation_id FROM messages)")
        if empty:
            yield Skipped("conversations", "it has no messages", "conversation", empty)
    for row in PLAN.rows(database, "hierarchical_summaries", "ORDER BY rowid"):
        yield _summary(row)
    for row in PLAN.rows(database, "knowledge_graph_edges", "ORDER BY rowid"):
        yield _fact(row)
    yield from PLAN.left_out(database)


def _conversation(database: Database, id_: str, about: Row, first: Row) -> Conversation:
    status, importance = text(about, "status"), about.get("importance_score")
    tags = [text(row, "tag") for row in PLAN.rows(database, "semantic_tags", "WHERE conversation_id = ?", (id_,))]
    known = status in STATUSES
    return Conversation(
        label=label_of(text(about, "label"), text(first, "content")),
        messages=(),
        folder=text(about, "folder") or "/imports/sekha",
        importance=min(10.0, max(0.0, float(importance))) if isinstance(importance, (int, float)) else None,
        status=status if known else None,
        source=PLAN.source,
        key=PLAN.key(id_),
        meta=PLAN.meta(id_, about, tags=tags, status="" if known else status),
        started_ms=when(about, "created_at"),
        updated_ms=when(about, "updated_at"),
        uid=_own(id_),
    )


def _said(row: Row) -> Said:
    id_, told = text(row, "id"), text(row, "role")
    role = told.lower()
    known = role in ROLES
    meta = beside(PLAN.meta(id_, row, role="" if known else told), object_of(row.get("metadata")))
    at_ms = when(row, "timestamp")
    return Said(role if known else "assistant", text(row, "content"), at_ms, meta, id_, PLAN.uid("message", id_))


def _summary(row: Row) -> Found:
    return arrived(
        Note(
            content=text(row, "summary_text"),
            kind="summary",
            type=text(row, "level"),
            meta=PLAN.meta(text(row, "id"), row, "timestamp_range", "model_used"),
            session=PLAN.key(text(row, "conversation_id")),
            created_ms=when(row, "generated_at"),
            uid=PLAN.uid("summary", text(row, "id")),
        )
    )


def _fact(row: Row) -> Found:
    """An edge of the knowledge graph, as a fact that can be read."""
    parts = [text(row, name) for name in ("subject_id", "predicate", "object_id")]
    return arrived(
        Note(
            content=" ".join(part.replace("_", " ") for part in parts),
            type="fact",
            meta=PLAN.meta(" ".join(parts), row),
            session=PLAN.key(text(row, "conversation_id")),
            created_ms=when(row, "extracted_at"),
            uid=PLAN.uid("fact", *parts, text(row, "conversation_id")),
        )
    )


def _own(id_: str) -> str | None:
    return ref(id_).uid if id_ else None
