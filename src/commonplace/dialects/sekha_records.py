"""Sekha's view of what is kept: conversations, messages found, what could go, and statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.errors import InvalidInput
from commonplace.memory.conversations import DEFAULT_IMPORTANCE, STATUSES, Said
from commonplace.memory.export import score
from commonplace.memory.prune import Candidate
from commonplace.memory.recall import Hit
from commonplace.memory.remember import checked_time
from commonplace.memory.stats import Stats
from commonplace.model import Session
from commonplace.text.times import moment, stamp

_KNOWN = ("role", "content", "timestamp", "metadata")
_MEGABYTE = 1_000_000
_TIME = "Write it as ISO 8601, like 2026-01-25T16:30:00Z."


def said(entry: Mapping[str, Any], number: int) -> Said:
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
    return Said(role, content, _time(entry.get("timestamp"), f"{where}.timestamp"), metadata or {})


def conversation(session: Session) -> dict[str, Any]:
    """A conversation without its messages."""
    return {
        "id": session.uid,
        "conversation_id": session.uid,
        "label": session.label,
        "folder": session.folder,
        "status": session.status,
        "importance_score": score(session.importance),
        "message_count": session.messages,
        "created_at": stamp(session.started_ms),
        "updated_at": stamp(session.updated_ms),
    }


def found(hit: Hit, session: Session | None) -> dict[str, Any]:
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
        "importance_score": score(session.importance if session else own),
        "created_at": stamp(item.created_ms),
        "role": item.details.get("role"),
        "folder": session.folder if session else None,
    }


def candidate(entry: Candidate) -> dict[str, Any]:
    """A conversation that could go. One that was never opened was last touched by its last message."""
    session = entry.session
    return {
        "id": session.uid,
        "label": session.label,
        "age_days": entry.age_days,
        "importance_score": score(session.importance),
        "reason": entry.reason,
        "last_accessed": stamp(session.ended_ms if session.accessed_ms is None else session.accessed_ms),
        "folder": session.folder,
        "message_count": session.messages,
        "duplicate_of": None if entry.duplicate_of is None else entry.duplicate_of.uid,
    }


def statistics(stats: Stats) -> dict[str, Any]:
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
            "oldest": None if counts.oldest_ms is None else stamp(counts.oldest_ms),
            "newest": None if counts.newest_ms is None else stamp(counts.newest_ms),
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
        return checked_time(moment(value, local=False))
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error.message}", _TIME) from None
