"""The shapes of Sekha's replies and of the messages it takes, as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.dialects.records import conversation_record
from commonplace.dialects.schema import INTEGER, NUMBER, OBJECT, STRING, STRING_OR_NULL, Schema, array, record
from commonplace.errors import InvalidInput
from commonplace.memory.context import CitedMessage
from commonplace.memory.conversations import DEFAULT_IMPORTANCE, ROLES, STATUSES, NewMessage
from commonplace.memory.export_conversations import EXPORT_FORMATS, plain_score
from commonplace.memory.prune import PruneCandidate
from commonplace.memory.recall import Hit
from commonplace.memory.remember import checked_time
from commonplace.memory.stats import ConversationStats
from commonplace.memory.summarise_and_label import LabelSuggestion
from commonplace.model import Session
from commonplace.ranking.context import estimate_tokens
from commonplace.text.dates import DAY_MS, parse_time, short_iso_time
from commonplace.text.paths import ROOT_FOLDER

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
        "format": {"type": "string", "enum": list(EXPORT_FORMATS)},
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

_KNOWN = ("role", "content", "timestamp", "metadata")
_MEGABYTE = 1_000_000
_TIME = "Write it as ISO 8601, like 2026-01-25T16:30:00Z."


def parse_message(entry: Mapping[str, Any], number: int) -> NewMessage:
    """A message as a caller gives it."""
    where = f"messages[{number}]"
    unknown = sorted(set(entry) - set(_KNOWN))
    if unknown:
        raise InvalidInput(
            f"{where} has no field {', '.join(map(repr, unknown[:5]))}.", f"Its fields are {', '.join(_KNOWN)}."
        )
    role, content = entry.get("role"), entry.get("content")
    if not isinstance(role, str) or not isinstance(content, str):
        raise InvalidInput(f"{where} needs a role and content, both text.")
    metadata = entry.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise InvalidInput(f"{where}.metadata must be an object.")
    return NewMessage(role, content, _time(entry.get("timestamp"), f"{where}.timestamp"), metadata or {})


def conversation_brief(session: Session) -> dict[str, Any]:
    """A conversation without its messages."""
    return {
        "id": session.uid,
        "conversation_id": session.uid,
        "label": session.label,
        "folder": session.folder,
        "status": session.status,
        "importance_score": plain_score(session.importance),
        "message_count": session.messages,
        "created_at": short_iso_time(session.started_ms),
        "updated_at": short_iso_time(session.updated_ms),
    }


def message_hit(hit: Hit, session: Session | None) -> dict[str, Any]:
    """A message that answers, or anything else that does.

    What is in no conversation has an empty `conversation_id`: it is always text, because clients require that.
    """
    item = hit.item
    own = DEFAULT_IMPORTANCE if item.importance is None else item.importance
    return {
        "id": item.uid,
        "conversation_id": "" if session is None else session.uid,
        "label": (session.label if session else "") or item.title,
        "content": item.text or item.told("snapshot") or item.title,
        "similarity": round(hit.relevance, 4),
        "importance_score": plain_score(session.importance if session else own),
        "created_at": short_iso_time(item.created_ms),
        "role": item.details.get("role"),
        "folder": session.folder if session else None,
    }


def prune_candidate(entry: PruneCandidate) -> dict[str, Any]:
    """A conversation that could go. One that was never opened was last touched by its last message."""
    session = entry.session
    return {
        "id": session.uid,
        "label": session.label,
        "age_days": entry.age_days,
        "importance_score": plain_score(session.importance),
        "reason": entry.reason,
        "last_accessed": short_iso_time(session.ended_ms if session.accessed_ms is None else session.accessed_ms),
        "folder": session.folder,
        "message_count": session.messages,
        "duplicate_of": None if entry.duplicate_of is None else entry.duplicate_of.uid,
    }


def statistics(stats: ConversationStats) -> dict[str, Any]:
    counts = stats.counts
    return {
        "total_conversations": counts.sessions,
        "total_messages": counts.messages,
        "total_words": counts.words,
        "average_importance": round(counts.importance, 2),
        "folders": dict(counts.folders),
        "labels": dict(counts.labels),
        "labels_left_out": counts.all_labels - len(counts.labels),
        "status_breakdown": {status: counts.statuses.get(status, 0) for status in STATUSES},
        "storage_size_mb": megabytes(stats.bytes),
        "date_range": {
            "oldest": None if counts.oldest_ms is None else short_iso_time(counts.oldest_ms),
            "newest": None if counts.newest_ms is None else short_iso_time(counts.newest_ms),
        },
    }


def megabytes(size: int) -> float:
    """Bytes as megabytes, to the byte."""
    return round(size / _MEGABYTE, 6)


def _time(value: object, name: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text.", _TIME)
    try:
        return checked_time(parse_time(value, local=False))
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error.message}", _TIME) from None


# What was quiet for so long and is worth so little can go; about the others a person should think.
SURELY_IDLE_DAYS, SURELY_LOW = 90, 3.0


def conversation_row(session: Session) -> dict[str, Any]:
    """Everything about a conversation but its messages."""
    return conversation_record(session) | {
        "conversation_id": session.uid,
        "archived": session.status == "archived",
        "timestamp": short_iso_time(session.ended_ms),
    }


def listed_row(session: Session) -> dict[str, Any]:
    """The same in a list, with the fields that its clients share with search results."""
    return conversation_row(session) | {"message_id": None, "score": 1.0, "content": session.label}


def answer_row(hit: Hit, session: Session | None) -> dict[str, Any]:
    """Something that answers. What is part of no conversation lies in the root."""
    told = message_hit(hit, session)
    return told | {
        "message_id": hit.item.uid,
        "conversationId": told["conversation_id"],
        "folder": told["folder"] or ROOT_FOLDER,
        "status": session.status if session else None,
        "message_count": session.messages if session else 0,
        "score": told["similarity"],
        "timestamp": told["created_at"],
        "metadata": dict(hit.item.meta),
    }


def cited_row(cited: CitedMessage) -> dict[str, Any]:
    """A message for a model to read, with where it is from. What nobody said in turn is told by us."""
    item, session = cited.item, cited.session
    at = short_iso_time(item.created_ms)
    label = (session.label if session else "") or item.title
    return {
        "id": item.uid,
        "conversation_id": session.uid if session else "",
        "role": item.details.get("role", "assistant"),
        "content": cited.content,
        "timestamp": at,
        "metadata": {
            "citation": {"label": label, "folder": session.folder if session else ROOT_FOLDER, "timestamp": at},
            "score": round(cited.relevance, 4),
            "whole": cited.whole,
        },
    }


def suggestion_row(suggestion: LabelSuggestion) -> dict[str, Any]:
    return {
        "label": suggestion.label,
        "folder": suggestion.folder,
        "confidence": suggestion.confidence,
        "is_existing": suggestion.known,
        "reason": suggestion.reason,
        "reasoning": suggestion.reason,
    }


def candidate_row(entry: PruneCandidate) -> dict[str, Any]:
    """A conversation that could go, and whether that is plain or to be looked at."""
    session, told = entry.session, prune_candidate(entry)
    opened = session.ended_ms if session.accessed_ms is None else session.accessed_ms
    plain = entry.duplicate_of is not None or (entry.age_days >= SURELY_IDLE_DAYS and session.importance <= SURELY_LOW)
    return told | {
        "conversation_id": session.uid,
        "conversation_label": session.label,
        "days_since_access": entry.age_days - (max(0, opened - session.ended_ms) // DAY_MS),
        "token_estimate": estimate_tokens(session.bytes),
        "preview": session.label,
        "recommendation": "archive" if plain else "review",
    }
