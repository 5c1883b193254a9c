"""Conversations as the clients of Sekha's HTTP interface read them: the union of the fields that each knows."""

from __future__ import annotations

from typing import Any

from commonplace.dialects.records import conversation_record
from commonplace.dialects.sekha_records import candidate, found
from commonplace.memory.assemble import Cited
from commonplace.memory.labels import Suggestion
from commonplace.memory.prune import Candidate
from commonplace.memory.recall import Hit
from commonplace.model import Session
from commonplace.ranking.budget import tokens_of
from commonplace.text.folders import ROOT
from commonplace.text.times import stamp

# What was quiet for so long and is worth so little can go; about the others a person should think.
SURELY_IDLE_DAYS, SURELY_LOW = 90, 3.0
_DAY = 86_400_000


def conversation_row(session: Session) -> dict[str, Any]:
    """Everything about a conversation but its messages."""
    return conversation_record(session) | {
        "conversation_id": session.uid,
        "archived": session.status == "archived",
        "timestamp": stamp(session.ended_ms),
    }


def listed_row(session: Session) -> dict[str, Any]:
    """The same in a list, with the fields that its clients share with search results."""
    return conversation_row(session) | {"message_id": None, "score": 1.0, "content": session.label}


def answer_row(hit: Hit, session: Session | None) -> dict[str, Any]:
    """Something that answers. What is part of no conversation lies in the root."""
    told = found(hit, session)
    return told | {
        "message_id": hit.item.uid,
        "conversationId": told["conversation_id"],
        "folder": told["folder"] or ROOT,
        "status": session.status if session else None,
        "message_count": session.messages if session else 0,
        "score": told["similarity"],
        "timestamp": told["created_at"],
        "metadata": dict(hit.item.meta),
    }


def cited_row(cited: Cited) -> dict[str, Any]:
    """A message for a model to read, with where it is from. What nobody said in turn is told by us."""
    item, session = cited.item, cited.session
    at = stamp(item.created_ms)
    label = (session.label if session else "") or item.title
    return {
        "id": item.uid,
        "conversation_id": session.uid if session else "",
        "role": item.details.get("role", "assistant"),
        "content": cited.content,
        "timestamp": at,
        "metadata": {
            "citation": {"label": label, "folder": session.folder if session else ROOT, "timestamp": at},
            "score": round(cited.relevance, 4),
            "whole": cited.whole,
        },
    }


def suggestion_row(suggestion: Suggestion) -> dict[str, Any]:
    return {
        "label": suggestion.label,
        "folder": suggestion.folder,
        "confidence": suggestion.confidence,
        "is_existing": suggestion.known,
        "reason": suggestion.reason,
        "reasoning": suggestion.reason,
    }


def candidate_row(entry: Candidate) -> dict[str, Any]:
    """A conversation that could go, and whether that is plain or to be looked at."""
    session, told = entry.session, candidate(entry)
    opened = session.ended_ms if session.accessed_ms is None else session.accessed_ms
    plain = entry.duplicate_of is not None or (entry.age_days >= SURELY_IDLE_DAYS and session.importance <= SURELY_LOW)
    return told | {
        "conversation_id": session.uid,
        "conversation_label": session.label,
        "days_since_access": entry.age_days - (max(0, opened - session.ended_ms) // _DAY),
        "token_estimate": tokens_of(session.bytes),
        "preview": session.label,
        "recommendation": "archive" if plain else "review",
    }
