"""Conversations as Sekha's tools write them: stored ones, messages that answer, what could be archived, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

from commonplace.dialects.reply_schema import Json
from commonplace.errors import InvalidInput
from commonplace.memory.conversations import STATUSES, NewMessage
from commonplace.memory.draft import checked_time
from commonplace.memory.export_conversations import EXPORT_FORMATS, plain_score
from commonplace.model import DEFAULT_IMPORTANCE, MESSAGE_ROLES
from commonplace.text.dates import parse_time, short_iso_time

if TYPE_CHECKING:
    from commonplace.memory.prune import PruneCandidate
    from commonplace.memory.recall import Hit
    from commonplace.memory.status_and_stats import ConversationStats
    from commonplace.model import Session

Status = Annotated[str, Json(enum=list(STATUSES))]


class GivenMessage(TypedDict):
    """A message of a conversation to store."""

    role: Annotated[str, Json(enum=list(MESSAGE_ROLES))]
    content: str
    timestamp: NotRequired[Annotated[str, Json(description="ISO 8601; now if omitted")]]
    metadata: NotRequired[dict[str, Any]]


class ConversationBrief(TypedDict):
    """A conversation without its messages."""

    id: str
    conversation_id: str
    label: str
    folder: str
    status: Status
    importance_score: float
    message_count: int
    created_at: str
    updated_at: str


class StoredReply(ConversationBrief):
    """A conversation that was stored."""

    duplicate: bool


class MessageHit(TypedDict):
    """A message that answers, or anything else that does."""

    id: str
    conversation_id: str
    label: str
    content: str
    similarity: float
    importance_score: float
    created_at: str
    role: str | None
    folder: str | None


class SearchReply(TypedDict):
    """Messages that answer."""

    results: list[MessageHit]
    total: int
    notice: NotRequired[str]


class ConversationReply(TypedDict):
    """A conversation with its messages."""

    id: str
    label: str
    folder: str
    status: Status
    importance_score: float
    # Clients check replies against their schema: a thousand messages, each checked, would take longer than the rest.
    messages: Annotated[list[Any], Json(description="Each with id, role, content, timestamp, metadata if it has any")]
    message_count: int
    word_count: int
    created_at: str
    updated_at: str
    last_accessed: str | None


class Candidate(TypedDict):
    """A conversation that could be archived."""

    id: str
    label: str
    age_days: int
    importance_score: float
    reason: str
    last_accessed: str
    folder: str
    message_count: int
    duplicate_of: str | None


class PruneReply(TypedDict):
    """What could be archived."""

    candidates: list[Candidate]
    total_candidates: int
    estimated_space_saved_mb: float


class ExportReply(TypedDict):
    """A conversation to store elsewhere."""

    id: str
    conversation_id: str
    format: Annotated[str, Json(enum=list(EXPORT_FORMATS))]
    content: NotRequired[Annotated[str, Json(description="The Markdown, in that format")]]
    label: NotRequired[str]
    folder: NotRequired[str]
    messages: NotRequired[list[dict[str, Any]]]


class StatusCounts(TypedDict):
    """How many conversations have each status."""

    active: int
    archived: int
    pinned: int


class DateRange(TypedDict):
    """When the first and the last message were said."""

    oldest: str | None
    newest: str | None


class Statistics(TypedDict):
    """How much there is."""

    total_conversations: int
    total_messages: int
    total_words: int
    average_importance: float
    folders: dict[str, int]
    labels: dict[str, int]
    labels_left_out: int
    status_breakdown: StatusCounts
    storage_size_mb: float
    date_range: DateRange


_KNOWN = tuple(GivenMessage.__annotations__)
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


def conversation_brief(session: Session) -> ConversationBrief:
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


def message_hit(hit: Hit, session: Session | None) -> MessageHit:
    """A message that answers, or anything else that does.

    What is in no conversation has an empty `conversation_id`: it is always text, because clients require that.
    """
    item = hit.item
    own = DEFAULT_IMPORTANCE if item.importance is None else item.importance
    return {
        "id": item.uid,
        "conversation_id": "" if session is None else session.uid,
        "label": (session.label if session else "") or item.title,
        "content": item.text or item.details_text("snapshot") or item.title,
        "similarity": round(hit.relevance, 4),
        "importance_score": plain_score(session.importance if session else own),
        "created_at": short_iso_time(item.created_ms),
        "role": item.details.get("role"),
        "folder": session.folder if session else None,
    }


def prune_candidate(entry: PruneCandidate) -> Candidate:
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


def statistics(stats: ConversationStats) -> Statistics:
    counts = stats.counts
    return {
        "total_conversations": counts.sessions,
        "total_messages": counts.messages,
        "total_words": counts.words,
        "average_importance": round(counts.importance, 2),
        "folders": dict(counts.folders),
        "labels": dict(counts.labels),
        "labels_left_out": counts.all_labels - len(counts.labels),
        "status_breakdown": status_counts(counts.statuses),
        "storage_size_mb": megabytes(stats.bytes),
        "date_range": {
            "oldest": None if counts.oldest_ms is None else short_iso_time(counts.oldest_ms),
            "newest": None if counts.newest_ms is None else short_iso_time(counts.newest_ms),
        },
    }


def status_counts(statuses: Mapping[str, int]) -> StatusCounts:
    """How many there are of each status, also of those that nothing has."""
    return {
        "active": statuses.get("active", 0),
        "archived": statuses.get("archived", 0),
        "pinned": statuses.get("pinned", 0),
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
