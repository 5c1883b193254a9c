"""Conversations as the clients of Sekha's HTTP interface read them: the union of the fields that each knows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict, cast

from commonplace.dialects.records import conversation_record
from commonplace.dialects.reply_schema import Json, component
from commonplace.dialects.sekha_records import message_hit, prune_candidate
from commonplace.memory.context import CitedMessage
from commonplace.memory.conversations import STATUSES
from commonplace.memory.prune import PruneCandidate
from commonplace.memory.recall import Hit
from commonplace.memory.summarise_and_label import LabelSuggestion
from commonplace.model import Session
from commonplace.text.dates import DAY_MS, short_iso_time
from commonplace.text.paths import ROOT_FOLDER
from commonplace.text.tokens import estimate_tokens

Time = Annotated[str, Json(description="2025-03-15T14:30:00Z")]
Relevance = Annotated[float, Json(minimum=0, maximum=1)]
Status = Annotated[Any, Json(enum=list(STATUSES))]
# What was idle for so long and is so unimportant can be archived; the others should be reviewed.
SURELY_IDLE_DAYS, SURELY_LOW = 90, 3.0


@component("Conversation")
class ConversationRow(TypedDict):
    """Everything about a conversation but its messages, under all the names that clients of Sekha read."""

    id: str
    conversation_id: str
    label: str
    folder: str
    status: Status
    archived: bool
    importance_score: float
    message_count: int
    word_count: int
    created_at: Time
    updated_at: Time
    timestamp: Time
    last_accessed: str | None
    metadata: dict[str, Any]
    short_id: str
    project: str | None
    source: str
    key: str
    last_message_at: Time
    last_message_at_epoch: int
    bytes: int
    rev: int
    forgotten_at: str | None


@component("ConversationListed")
class ListedRow(ConversationRow):
    """A conversation in a list, with the fields that its clients share with search results."""

    message_id: None
    score: float
    content: str


@component("ConversationAnswer")
class AnswerRow(TypedDict):
    """Something that answers."""

    id: str
    message_id: str
    conversation_id: Annotated[str, Json(description="Empty for what is in no conversation.")]
    conversationId: str
    label: str
    folder: str
    status: Annotated[Any, Json(enum=[*STATUSES, None])]
    role: str | None
    content: str
    score: Relevance
    similarity: Relevance
    importance_score: float
    message_count: int
    created_at: Time
    timestamp: Time
    metadata: dict[str, Any]


class Citation(TypedDict):
    """Where a message is from."""

    label: str
    folder: str
    timestamp: Time


class CitedMetadata(TypedDict):
    """Where a message is from, and how well it answers."""

    citation: Citation
    score: Relevance
    whole: bool


@component("MessageCited")
class CitedRow(TypedDict):
    """A message for a model to read, with where it is from."""

    id: str
    conversation_id: str
    role: str
    content: str
    timestamp: Time
    metadata: CitedMetadata


class SuggestionRow(TypedDict):
    """A label that would suit a conversation."""

    label: str
    folder: str
    confidence: Relevance
    is_existing: bool
    reason: str
    reasoning: str


class CandidateRow(TypedDict):
    """A conversation that could be archived, and whether that is obvious or to be reviewed."""

    id: str
    conversation_id: str
    label: str
    conversation_label: str
    folder: str
    age_days: int
    days_since_access: int
    last_accessed: Time
    message_count: int
    token_estimate: int
    importance_score: float
    preview: str
    recommendation: Literal["archive", "review"]
    reason: str
    duplicate_of: str | None


def conversation_row(session: Session) -> ConversationRow:
    """Everything about a conversation but its messages."""
    row: Any = conversation_record(session) | {
        "conversation_id": session.uid,
        "archived": session.status == "archived",
        "timestamp": short_iso_time(session.ended_ms),
    }
    return cast(ConversationRow, row)


def listed_row(session: Session) -> ListedRow:
    """The same in a list."""
    return {**conversation_row(session), "message_id": None, "score": 1.0, "content": session.label}


def answer_row(hit: Hit, session: Session | None) -> AnswerRow:
    """Something that answers. What is part of no conversation lies in the root."""
    found = message_hit(hit, session)
    return {
        **found,
        "message_id": hit.item.uid,
        "conversationId": found["conversation_id"],
        "folder": found["folder"] or ROOT_FOLDER,
        "status": session.status if session else None,
        "message_count": session.messages if session else 0,
        "score": found["similarity"],
        "timestamp": found["created_at"],
        "metadata": dict(hit.item.meta),
    }


def cited_row(cited: CitedMessage) -> CitedRow:
    """A message for a model to read; what is no message of somebody's is the assistant's."""
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


def suggestion_row(suggestion: LabelSuggestion) -> SuggestionRow:
    return {
        "label": suggestion.label,
        "folder": suggestion.folder,
        "confidence": suggestion.confidence,
        "is_existing": suggestion.known,
        "reason": suggestion.reason,
        "reasoning": suggestion.reason,
    }


def candidate_row(entry: PruneCandidate) -> CandidateRow:
    """A conversation that could be archived, and whether that is obvious or to be reviewed."""
    session = entry.session
    opened = session.ended_ms if session.accessed_ms is None else session.accessed_ms
    idle = entry.age_days >= SURELY_IDLE_DAYS and session.importance <= SURELY_LOW
    return {
        **prune_candidate(entry),
        "conversation_id": session.uid,
        "conversation_label": session.label,
        "days_since_access": entry.age_days - (max(0, opened - session.ended_ms) // DAY_MS),
        "token_estimate": estimate_tokens(session.bytes),
        "preview": session.label,
        "recommendation": "archive" if entry.duplicate_of is not None or idle else "review",
    }
