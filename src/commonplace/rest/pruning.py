"""Pruning over HTTP: what could go, and archiving what a person chose of it."""

from __future__ import annotations

from typing import Annotated, TypedDict

from pydantic import Field

from commonplace.dialects.reply_schema import component
from commonplace.dialects.sekha_records import megabytes
from commonplace.memory.conversations import ConversationChanges, count_conversations, find_session, update_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE, find_prunable
from commonplace.model import SessionScope
from commonplace.rest import fields
from commonplace.rest.conversation_records import CandidateRow, ConversationRow, candidate_row, conversation_row
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict

MOST = 1000


class Idle(Strict):
    """How long without a message, and how little important."""

    threshold_days: Annotated[int, Field(ge=0, le=MAX_DAYS), fields.WHOLE] = PRUNE_DAYS
    importance_threshold: fields.Importance = PRUNE_IMPORTANCE


class Chosen(Strict):
    """The conversations to archive."""

    conversation_ids: Annotated[list[fields.Id], Field(max_length=MOST, fail_fast=True)]


@component("Pruning")
class PruneReply(TypedDict):
    """What could be archived, and what that would save."""

    suggestions: list[CandidateRow]
    total: int
    estimated_token_savings: int
    total_reviewed: int
    recommended_archive: int
    recommended_keep: int
    estimated_space_saved_mb: float


@component("ConversationsArchived")
class ArchivedReply(TypedDict):
    """The conversations that were archived."""

    archived: list[ConversationRow]
    count: int


def prune_suggestions(memory: LocalMemory, request: ApiRequest[Idle, None]) -> Answer[list[CandidateRow]]:
    """Which conversations could go, each with the reason, as a bare list. Nothing is changed."""
    return Answer(_proposed(memory, request.query)["suggestions"])


def prune_dry_run(memory: LocalMemory, request: ApiRequest[None, Idle]) -> Answer[PruneReply]:
    """The same, asked by a body, with how many there are and what archiving them would save."""
    return Answer(_proposed(memory, request.body))


def prune_execute(memory: LocalMemory, request: ApiRequest[None, Chosen]) -> Answer[ArchivedReply]:
    """Archive the conversations that are named, and nothing else. If one does not exist, none is archived."""
    named = {session.id: session for session in (find_session(memory, id_) for id_ in request.body.conversation_ids)}
    done = [
        session
        if session.status == "archived"
        else update_conversation(memory, session.uid, ConversationChanges(status="archived"))
        for session in named.values()
    ]
    return Answer({"archived": [conversation_row(session) for session in done], "count": len(done)})


def _proposed(memory: LocalMemory, wanted: Idle) -> PruneReply:
    found = find_prunable(memory, wanted.threshold_days, wanted.importance_threshold)
    rows = [candidate_row(entry) for entry in found.candidates]
    reviewed = count_conversations(memory, SessionScope())
    return {
        "suggestions": rows[:MOST],
        "total": len(rows),
        "total_reviewed": reviewed,
        "recommended_archive": sum(row["recommendation"] == "archive" for row in rows),
        "recommended_keep": reviewed - len(rows),
        "estimated_token_savings": sum(row["token_estimate"] for row in rows),
        "estimated_space_saved_mb": megabytes(found.bytes),
    }
