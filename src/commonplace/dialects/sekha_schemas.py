"""The shapes of Sekha's replies and of the messages it takes, as JSON Schema."""

from __future__ import annotations

from commonplace.dialects.schema import INTEGER, NUMBER, OBJECT, STRING, STRING_OR_NULL, Schema, array, record
from commonplace.memory.conversations import ROLES, STATUSES
from commonplace.memory.export import FORMATS

_STATUS: Schema = {"type": "string", "enum": list(STATUSES)}
_COUNTED: Schema = {"type": "object", "additionalProperties": INTEGER}

MESSAGE_GIVEN: Schema = {
    "type": "object",
    "properties": {
        "role": {"type": "string", "enum": list(ROLES)},
        "content": STRING,
        "timestamp": {"type": "string", "description": "ISO 8601; now if omitted"},
        "metadata": OBJECT,
    },
    "required": ["role", "content"],
}

_CONVERSATION: Schema = {
    "id": STRING,
    "conversation_id": STRING,
    "label": STRING,
    "folder": STRING,
    "status": _STATUS,
    "importance_score": NUMBER,
    "message_count": INTEGER,
    "created_at": STRING,
    "updated_at": STRING,
}
# Clients check replies against their schema: a thousand messages, each looked at, would take longer than all the rest.
_MESSAGES: Schema = {"type": "array", "description": "Each with id, role, content, timestamp, metadata if it has any"}

STORED = record(_CONVERSATION | {"duplicate": {"type": "boolean"}})
UPDATED = record(_CONVERSATION)
FOUND = record(
    {
        "results": array(
            record(
                {
                    "id": STRING,
                    "conversation_id": STRING,
                    "label": STRING,
                    "content": STRING,
                    "similarity": NUMBER,
                    "importance_score": NUMBER,
                    "created_at": STRING,
                    "role": STRING_OR_NULL,
                    "folder": STRING_OR_NULL,
                }
            )
        ),
        "total": INTEGER,
        "notice": STRING,
    },
    optional=("notice",),
)
CONTEXT = record(
    {
        **{name: _CONVERSATION[name] for name in ("id", "label", "folder", "status", "importance_score")},
        "messages": _MESSAGES,
        "message_count": INTEGER,
        "word_count": INTEGER,
        "created_at": STRING,
        "updated_at": STRING,
        "last_accessed": STRING_OR_NULL,
    }
)
CANDIDATES = record(
    {
        "candidates": array(
            record(
                {
                    "id": STRING,
                    "label": STRING,
                    "age_days": INTEGER,
                    "importance_score": NUMBER,
                    "reason": STRING,
                    "last_accessed": STRING,
                    "folder": STRING,
                    "message_count": INTEGER,
                    "duplicate_of": STRING_OR_NULL,
                }
            )
        ),
        "total_candidates": INTEGER,
        "estimated_space_saved_mb": NUMBER,
    }
)
EXPORTED = record(
    {
        "id": STRING,
        "conversation_id": STRING,
        "format": {"type": "string", "enum": list(FORMATS)},
        "content": {"type": "string", "description": "The Markdown, in that format"},
        "label": STRING,
        "folder": STRING,
        "messages": array(OBJECT),
    },
    optional=("content", "label", "folder", "messages"),
)
COUNTS: Schema = {
    "total_conversations": INTEGER,
    "total_messages": INTEGER,
    "total_words": INTEGER,
    "average_importance": NUMBER,
    "folders": _COUNTED,
    "labels": _COUNTED,
    "labels_left_out": INTEGER,
    "status_breakdown": record({"active": INTEGER, "archived": INTEGER, "pinned": INTEGER}),
    "storage_size_mb": NUMBER,
    "date_range": record({"oldest": STRING_OR_NULL, "newest": STRING_OR_NULL}),
}
STATS = record(COUNTS)
