"""Pruning over HTTP: what could go, and archiving what a person chose of it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from commonplace.dialects.conversation_records import candidate_row, conversation_row
from commonplace.dialects.sekha_records import megabytes
from commonplace.memory.book import Book
from commonplace.memory.conversations import count, find
from commonplace.memory.organise import Arrangement, arrange
from commonplace.memory.prune import DEFAULT_DAYS, DEFAULT_IMPORTANCE, MAX_DAYS, prune
from commonplace.model import SessionScope
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, Asked
from commonplace.rest.fields import Strict

MOST = 1000


class Idle(Strict):
    """How long without a message, and how little important."""

    threshold_days: Annotated[int, Field(ge=0, le=MAX_DAYS), fields.WHOLE] = DEFAULT_DAYS
    importance_threshold: fields.Importance = DEFAULT_IMPORTANCE


class Chosen(Strict):
    """The conversations to archive."""

    conversation_ids: Annotated[list[fields.Id], Field(max_length=MOST, fail_fast=True)]


def suggestions(book: Book, asked: Asked[Idle, None]) -> Answer:
    """Which conversations could go, each with the reason, as a bare list. Nothing is changed."""
    return Answer(_proposed(book, asked.query)["suggestions"])


def dry_run(book: Book, asked: Asked[None, Idle]) -> Answer:
    """The same, asked by a body, with how many there are and what archiving them would save."""
    return Answer(_proposed(book, asked.body))


def execute(book: Book, asked: Asked[None, Chosen]) -> Answer:
    """Archive the conversations that are named, and nothing else. If one does not exist, none is archived."""
    named = {session.id: session for session in (find(book, id_) for id_ in asked.body.conversation_ids)}
    done = [
        session if session.status == "archived" else arrange(book, session.uid, Arrangement(status="archived"))
        for session in named.values()
    ]
    return Answer({"archived": [conversation_row(session) for session in done], "count": len(done)})


def _proposed(book: Book, wanted: Idle) -> dict[str, Any]:
    found = prune(book, wanted.threshold_days, wanted.importance_threshold)
    rows = [candidate_row(entry) for entry in found.candidates]
    reviewed = count(book, SessionScope())
    return {
        "suggestions": rows[:MOST],
        "total": len(rows),
        "total_reviewed": reviewed,
        "recommended_archive": sum(row["recommendation"] == "archive" for row in rows),
        "recommended_keep": reviewed - len(rows),
        "estimated_token_savings": sum(row["token_estimate"] for row in rows),
        "estimated_space_saved_mb": megabytes(found.bytes),
    }
