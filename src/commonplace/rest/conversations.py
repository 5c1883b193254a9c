"""Conversations over HTTP: store, list, read, organise, prune, forget and restore, as Sekha's clients call it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from pydantic import ConfigDict, Field

from commonplace.dialects.records import ChangeRecord, change_record
from commonplace.dialects.reply_schema import Json, component
from commonplace.dialects.sekha_records import StatusCounts, megabytes, status_counts
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory import conversations
from commonplace.memory.conversations import (
    STATUSES,
    ConversationChanges,
    NewConversation,
    SessionPage,
    conversations_by_number,
    find_session,
    latest_conversations,
    open_conversation,
    store_conversation,
    unarchive_conversation,
    unpin_conversation,
    update_conversation,
)
from commonplace.memory.conversations import count_conversations as how_many
from commonplace.memory.items import MAX_PAGE
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.prune import MAX_DAYS, PRUNE_DAYS, PRUNE_IMPORTANCE, find_prunable
from commonplace.memory.status_and_stats import session_totals
from commonplace.model import CONVERSATION_HINT, Item, Session, SessionScope
from commonplace.rest import fields
from commonplace.rest.conversation_records import (
    CandidateRow,
    ConversationRow,
    ListedRow,
    candidate_row,
    conversation_row,
    listed_row,
)
from commonplace.rest.endpoint import Answer, ApiRequest, etag_of
from commonplace.rest.fields import Strict
from commonplace.rest.messages import MessageList, MessageRow, message_row, new_messages_of
from commonplace.text.paths import ROOT_FOLDER, normalise_folder
from commonplace.text.sentences import title_of

UNTITLED = "Conversation"
_MOST_PAGES = 1_000_000
# Of those that could be pruned, in a reply or at once.
MAX_PRUNED = 1000


class _ConversationFields(Strict):
    folder: fields.Folder | None = None
    importance_score: fields.Importance | None = None
    camel_score: fields.Importance | None = Field(
        default=None, alias="importanceScore", description="The same, as one of the clients spells it."
    )
    status: fields.Status | None = None
    project: fields.ProjectName | None = None
    metadata: dict[str, Any] | None = None

    @property
    def importance(self) -> float | None:
        return self.camel_score if self.importance_score is None else self.importance_score


class NewConversationRequest(_ConversationFields):
    """A conversation to keep. Null is as good as leaving it out."""

    messages: MessageList
    label: fields.Label | None = Field(default=None, description="Its title; the first thing said if omitted.")


class Chosen(Strict):
    """Which conversations are meant. A folder means all below it too."""

    label: fields.Label | None = Field(
        default=None, description="Its label, a part of it between slashes, or a folder's name."
    )
    folder: fields.Folder | None = None
    pinned: bool | None = None
    archived: bool | None = None
    status: fields.Status | None = None
    project: fields.ProjectName | None = None

    def scope(self, *, empty: bool = False) -> SessionScope | None:
        """The same as a scope; None if no conversation can be all of this."""
        statuses = {self.status} if self.status else set(STATUSES)
        for status, included in (("pinned", self.pinned), ("archived", self.archived)):
            if included is not None:
                statuses &= {status} if included else set(STATUSES) - {status}
        if not statuses:
            return None
        return SessionScope(
            folder=normalise_folder(self.folder) if self.folder else "",
            labels=(self.label,) if self.label else (),
            statuses=tuple(sorted(statuses)) if len(statuses) < len(STATUSES) else (),
            project=self.project,
            empty=empty,
        )


class Listed(Chosen):
    """A page: by its number, by how many to skip, or, quickest, by the cursor of the page before."""

    page: Annotated[int, Field(ge=1, le=_MOST_PAGES), fields.WHOLE] = 1
    page_size: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] = 50
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), fields.WHOLE] | None = Field(
        default=None, description="Another name."
    )
    offset: Annotated[int, Field(ge=0, le=fields.MAX_IDS), fields.WHOLE] | None = None
    cursor: fields.Cursor | None = None


class Seen(Strict):
    """How a conversation is read."""

    messages: bool = Field(True, description="false: without its messages.")
    forgotten: bool = Field(False, description="Show it even if it was forgotten, then without its messages.")


@component("ConversationWithMessages")
class ConversationWithMessages(ConversationRow):
    """A conversation with its messages, unless they were not asked for."""

    messages: NotRequired[list[MessageRow]]


@component("ConversationStored")
class StoredConversationRow(ConversationRow):
    """A conversation that was stored."""

    duplicate: Annotated[bool, Json(description="The same was stored before.")]


@component("ConversationList")
class ConversationList(TypedDict):
    """A page of conversations; one of its clients reads the one name, one the other."""

    results: list[ListedRow]
    conversations: list[ListedRow]
    total: int
    page: int
    page_size: int
    next_cursor: str | None


class ConversationCount(TypedDict):
    """How many conversations there are."""

    count: int
    total: int
    by_status: StatusCounts


@component("ConversationChanges")
class ConversationHistory(TypedDict):
    """What a conversation was before each change."""

    id: str
    conversation_id: str
    rev: int
    changes: list[ChangeRecord]


def create_conversation(
    memory: LocalMemory, request: ApiRequest[None, NewConversationRequest]
) -> Answer[StoredConversationRow]:
    """Keep a conversation. The same again is found instead of repeated."""
    new = request.body
    messages = new_messages_of(new.messages)
    stored = store_conversation(
        memory,
        NewConversation(
            label=new.label or _title([message.content for message in messages]),
            messages=messages,
            folder=new.folder or ROOT_FOLDER,
            importance=new.importance,
            status=new.status,
            project=new.project,
            meta=new.metadata or {},
        ),
    )
    session = stored.session
    data: StoredConversationRow = {**conversation_row(session), "duplicate": stored.duplicate}
    headers = {"Location": f"/api/v1/conversations/{session.uid}"}
    return Answer(data, status=200 if stored.duplicate else 201, etag=etag_of(session), headers=headers)


def list_conversations(memory: LocalMemory, request: ApiRequest[Listed, None]) -> Answer[ConversationList]:
    """Conversations, the one with the newest message first."""
    return _list_answer(memory, request.query, request.query.scope())


def list_sessions(memory: LocalMemory, request: ApiRequest[Listed, None]) -> Answer[ConversationList]:
    """Every session: conversations, and the work of coding agents, in which nobody need have said anything."""
    return _list_answer(memory, request.query, request.query.scope(empty=True))


def count_conversations(memory: LocalMemory, request: ApiRequest[Chosen, None]) -> Answer[ConversationCount]:
    """How many conversations there are."""
    scope = request.query.scope()
    found = {} if scope is None else session_totals(memory, scope).statuses
    by_status = status_counts(found)
    total = by_status["active"] + by_status["archived"] + by_status["pinned"]
    return Answer({"count": total, "total": total, "by_status": by_status})


def read_conversation(memory: LocalMemory, request: ApiRequest[Seen, None]) -> Answer[ConversationWithMessages]:
    """Everything about a conversation."""
    wanted = request.query
    session = find_conversation(memory, request.path["id"], forgotten=wanted.forgotten)
    if not wanted.messages or session.forgotten_ms is not None:
        return conversation_answer(session)
    session, messages = open_conversation(memory, session.uid)
    data: ConversationWithMessages = {
        **conversation_row(session),
        "messages": [message_row(item) for item in messages],
    }
    return Answer(data, etag=_etag_with(session, messages))


def forget_conversation(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ConversationRow]:
    """Take a conversation and its messages out of every answer; they can be restored."""
    session = find_conversation(memory, request.path["id"], forgotten=True)
    return conversation_answer(conversations.forget_session(memory, session.uid, request.expected_rev(session)))


def restore_conversation(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ConversationRow]:
    """Bring a forgotten conversation back."""
    session = find_conversation(memory, request.path["id"], forgotten=True)
    request.expected_rev(session)
    return conversation_answer(conversations.restore_session(memory, session.uid))


def conversation_history(memory: LocalMemory, request: ApiRequest[None, None]) -> Answer[ConversationHistory]:
    """What a conversation was before each change, oldest first."""
    session = find_conversation(memory, request.path["id"], forgotten=True)
    changes = [change_record(one) for one in conversations.conversation_history(memory, session.uid)]
    return Answer({"id": session.uid, "conversation_id": session.uid, "rev": session.rev, "changes": changes})


def _list_answer(memory: LocalMemory, wanted: Listed, scope: SessionScope | None) -> Answer[ConversationList]:
    size = wanted.limit or wanted.page_size
    skip = (wanted.page - 1) * size if wanted.offset is None else wanted.offset
    total, page = 0, SessionPage((), None)
    if scope is not None and wanted.cursor:
        page, total = latest_conversations(memory, scope, size, wanted.cursor), how_many(memory, scope)
    elif scope is not None:
        page, total = conversations_by_number(memory, scope, size, skip)
    rows = [listed_row(session) for session in page.sessions]
    return Answer(
        {
            "results": rows,
            "conversations": rows,
            "total": total,
            "page": skip // size + 1,
            "page_size": size,
            "next_cursor": page.next_cursor,
        }
    )


def conversation_answer(session: Session) -> Answer[Any]:
    """A conversation without its messages."""
    return Answer(conversation_row(session), etag=etag_of(session))


def _etag_with(session: Session, messages: Sequence[Item]) -> str:
    """The revision of a conversation, and a mark of what its messages are at. That it was read makes no other of it."""
    state = repr([(item.id, item.rev) for item in messages]).encode()
    return f'W/"r{session.rev}.{hashlib.blake2b(state, digest_size=8).hexdigest()}"'


def _title(contents: Sequence[str]) -> str:
    return next(filter(None, map(title_of, contents)), UNTITLED)


def find_conversation(memory: LocalMemory, id_: str, *, forgotten: bool = False) -> Session:
    """The conversation of this id. What cannot be an id is one that nothing answers to."""
    try:
        return find_session(memory, id_, forgotten=forgotten)
    except InvalidInput as error:
        raise NotFound(f"There is no conversation {id_[:60]!r}.", CONVERSATION_HINT) from error


def pinned_means_ten(schema: dict[str, Any]) -> None:
    """Tell in the document that importance 10 and pinned mean the same."""
    below = {"type": "number", "minimum": 0, "maximum": 10, "exclusiveMaximum": 10}
    apart = ({"enum": ["active", "archived"]}, {"const": 10}), ({"const": "pinned"}, below)
    schema["not"] = {
        "anyOf": [
            {"required": ["status", name], "properties": {"status": status, name: score}}
            for name in ("importance_score", "importanceScore")
            for status, score in apart
        ]
    }


class Changed(_ConversationFields):
    """New values. What is left out, or null, stays as it is."""

    model_config = ConfigDict(**Strict.model_config, json_schema_extra=pinned_means_ten)

    label: fields.Label | None = None
    rev: fields.Rev | None = None


class NewLabel(Strict):
    """Another title, and another folder if one is named."""

    label: fields.Label
    folder: fields.Folder | None = None


class NewFolder(Strict):
    """Another folder."""

    folder: fields.Folder


class Pinned(Strict):
    """Whether it is pinned."""

    pinned: bool = True


class Archived(Strict):
    """Whether it is archived."""

    archived: bool = True


class NewStatus(Strict):
    """Another status."""

    status: fields.Status


def change_conversation(memory: LocalMemory, request: ApiRequest[None, Changed]) -> Answer[ConversationRow]:
    """Change what is named; the rest stays. What it was goes to its history."""
    return _changed(memory, request, request.body)


def put_label(memory: LocalMemory, request: ApiRequest[None, NewLabel]) -> Answer[ConversationRow]:
    """Give it another title."""
    return _changed(memory, request, Changed(label=request.body.label, folder=request.body.folder))


def put_folder(memory: LocalMemory, request: ApiRequest[None, NewFolder]) -> Answer[ConversationRow]:
    """Put it into another folder."""
    return _changed(memory, request, Changed(folder=request.body.folder))


def put_status(memory: LocalMemory, request: ApiRequest[None, NewStatus]) -> Answer[ConversationRow]:
    """Give it another status."""
    return _changed(memory, request, Changed(status=request.body.status))


def put_pin(memory: LocalMemory, request: ApiRequest[None, Pinned]) -> Answer[ConversationRow]:
    """Pin it, which is importance 10, or unpin it."""
    if request.body.pinned:
        return _changed(memory, request, Changed(status="pinned"))
    request.expected_rev(find_conversation(memory, request.path["id"]))
    return conversation_answer(unpin_conversation(memory, request.path["id"]))


def put_archive(memory: LocalMemory, request: ApiRequest[None, Archived]) -> Answer[ConversationRow]:
    """Archive it, or bring it back from there."""
    if request.body.archived:
        return _changed(memory, request, Changed(status="archived"))
    request.expected_rev(find_conversation(memory, request.path["id"]))
    return conversation_answer(unarchive_conversation(memory, request.path["id"]))


def _changed(memory: LocalMemory, request: ApiRequest[None, Any], wanted: Changed) -> Answer[ConversationRow]:
    session = find_conversation(memory, request.path["id"])
    rev = request.expected_rev(session, wanted.rev)
    arrangement = ConversationChanges(
        label=wanted.label,
        folder=wanted.folder,
        importance=wanted.importance,
        status=wanted.status,
        project=wanted.project,
        meta=wanted.metadata,
    )
    return conversation_answer(
        session if arrangement == ConversationChanges() else update_conversation(memory, session.uid, arrangement, rev)
    )


class Idle(Strict):
    """How long without a message, and how little important."""

    threshold_days: Annotated[int, Field(ge=0, le=MAX_DAYS), fields.WHOLE] = PRUNE_DAYS
    importance_threshold: fields.Importance = PRUNE_IMPORTANCE


class ToArchive(Strict):
    """The conversations to archive."""

    conversation_ids: Annotated[list[fields.Id], Field(max_length=MAX_PRUNED, fail_fast=True)]


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
    return Answer(_prunable(memory, request.query)["suggestions"])


def prune_dry_run(memory: LocalMemory, request: ApiRequest[None, Idle]) -> Answer[PruneReply]:
    """The same, asked by a body, with how many there are and what archiving them would save."""
    return Answer(_prunable(memory, request.body))


def prune_execute(memory: LocalMemory, request: ApiRequest[None, ToArchive]) -> Answer[ArchivedReply]:
    """Archive the conversations that are named, and nothing else. If one does not exist, none is archived."""
    named = {session.id: session for session in (find_session(memory, id_) for id_ in request.body.conversation_ids)}
    done = [
        session
        if session.status == "archived"
        else update_conversation(memory, session.uid, ConversationChanges(status="archived"))
        for session in named.values()
    ]
    return Answer({"archived": [conversation_row(session) for session in done], "count": len(done)})


def _prunable(memory: LocalMemory, wanted: Idle) -> PruneReply:
    found = find_prunable(memory, wanted.threshold_days, wanted.importance_threshold)
    rows = [candidate_row(entry) for entry in found.candidates]
    reviewed = how_many(memory, SessionScope())
    return {
        "suggestions": rows[:MAX_PRUNED],
        "total": len(rows),
        "total_reviewed": reviewed,
        "recommended_archive": sum(row["recommendation"] == "archive" for row in rows),
        "recommended_keep": reviewed - len(rows),
        "estimated_token_savings": sum(row["token_estimate"] for row in rows),
        "estimated_space_saved_mb": megabytes(found.bytes),
    }
